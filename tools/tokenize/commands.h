#pragma once
// The commands of `tokenize`. Each reads its own flags and prints or writes; FILE "-" is standard
// input.
#include "tools/common/tool.h"

namespace skep {

void tokenize_ids(const Arguments& arguments);     ///< text -> ids, printed
void tokenize_encode(const Arguments& arguments);  ///< text -> token file
void tokenize_decode(const Arguments& arguments);  ///< token file, or ids on standard input -> text
void tokenize_train(const Arguments& arguments);   ///< text -> tokenizer.json

}  // namespace skep
