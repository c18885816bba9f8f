#pragma once
// From the value of data.train or data.val to files: one path, a folder, a pattern, or several of
// them between commas. Their order is that of the list; inside a folder or a pattern, of the names'
// bytes (shard_10 comes before shard_2: number shards with leading zeros).
#include <string>
#include <vector>

namespace skep {

/// At least one file. A path that exists is taken as it is, whatever characters it has; a folder
/// stands for the files in it but hidden ones. Error(data) for a part that names nothing, or a file
/// that another part has named already.
std::vector<std::string> find_data_files(const std::string& wanted);

/// "a.txt", or "3 files, a.txt … c.txt".
std::string describe_files(const std::vector<std::string>& files);

}  // namespace skep
