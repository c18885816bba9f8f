#include "train/data/text_file.h"

#include "engine/core/error.h"

namespace skep {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes, name, advice;
};

constexpr std::string_view unpack = "unpack it first", extract = "write its text into a file first",
                           convert = "convert it with `iconv -t UTF-8`";

// The longer of two that begin alike comes first.
constexpr Signature signatures[] = {
    {"PK\x03\x04", "a zip archive", unpack},
    {"\x1F\x8B", "compressed by gzip", unpack},
    {"\xFD\x37zXZ\x00"sv, "compressed by xz", unpack},
    {"\x28\xB5\x2F\xFD", "compressed by zstd", unpack},
    {"BZh", "compressed by bzip2", unpack},
    {"7z\xBC\xAF\x27\x1C", "a 7z archive", unpack},
    {"%PDF-", "a PDF document", extract},
    {"PAR1", "a Parquet table", extract},
    {"\x93NUMPY", "a NumPy array", "write its ids as a .bin file of uint16"},
    {"\xFF\xFE\x00\x00"sv, "UTF-32 text", convert},
    {"\x00\x00\xFE\xFF"sv, "UTF-32 text", convert},
    {"\xFF\xFE", "UTF-16 text", convert},
    {"\xFE\xFF", "UTF-16 text", convert},
};

}  // namespace

void require_text(std::string_view bytes) {
  for (const Signature& signature : signatures)
    if (bytes.starts_with(signature.bytes))
      fail(ErrorKind::data, "not a plain text but {}: {}", signature.name, signature.advice);
}

}  // namespace skep
