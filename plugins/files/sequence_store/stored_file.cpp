// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/stored_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sluice/failure.hpp>
#include <sluice/hts/text_file.hpp>

namespace sluice::sequence_store {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 18;  // stays in the second-level cache while it is scanned

// The temporary file; a table of records points into it.
class Spool final : public LetterSink {
 public:
  Spool() {
    const char* folder = std::getenv("TMPDIR");
    name_ = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/sluice-sequences-XXXXXX";
    file_ = FileDescriptor(::mkostemp(name_.data(), O_CLOEXEC));
    if (file_.number() < 0) fail("cannot be made");
    ::unlink(name_.c_str());
    buffer_.reserve(piece_bytes * 2);
  }
  void take(std::string_view letters) override {
    buffer_.append(letters);
    if (buffer_.size() >= piece_bytes) flush();
  }
  void flush() {
    for (std::string_view rest = buffer_; !rest.empty();) {
      const ssize_t written = ::write(file_.number(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written");
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    bytes_ += static_cast<std::int64_t>(buffer_.size());
    buffer_.clear();
  }
  std::int64_t bytes() const { return bytes_; }
  FileDescriptor release() { return std::move(file_); }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Failure::output("the temporary file '" + name_ + "' " + what + ": " + std::strerror(errno),
                          "free space there, or set TMPDIR to a folder on a larger disk");
  }
  std::string name_, buffer_;
  FileDescriptor file_;
  std::int64_t bytes_ = 0;
};

// False: uneven lines in a file that is scanned in place.
bool scan(hts::TextFile& file, SequenceScan& scan, const std::function<bool()>& cancelled) {
  while (!cancelled()) {
    const std::string_view text = file.next();
    if (!text.empty()) {
      if (!scan.feed(text)) return false;
      continue;
    }
    return file.total() == 0 || scan.finish();
  }
  return true;
}

}  // namespace

StoredFile open_stored_file(const std::string& path, const Parallel& parallel, const std::function<bool()>& cancelled) {
  const hts::FileLabel label{path, "", "check the path of the FASTA or FASTQ file"};
  StoredFile result;
  std::optional<hts::TextFile> file(std::in_place, label, piece_bytes);
  struct stat info {};
  const bool is_file = path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  const bool plain = is_file && !file->is_compressed();
  result.why_spooled = !is_file ? "it is no file that can be read twice"
                       : !plain
                           ? "it is compressed, and its sequences are fetched many times (an index does not change that): decompress it to save this"
                           : "its records have lines of unequal length: `seqtk seq` writes each on one line";
  if (plain) {
    result.file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (result.file.number() < 0) throw Failure::input("cannot open '" + path + "': " + std::strerror(errno), "check the path");
    if (scan_in_parts(result.file.number(), info.st_size, usual_part_bytes, parallel, cancelled, result.table)) return result;
    result.table = {};
    SequenceScan in_place(path, Places::in_text, nullptr, result.table);
    if (scan(*file, in_place, cancelled)) return result;
    result.table = {};
    file.emplace(label, piece_bytes);
  }
  Spool spool;
  SequenceScan packed(path, Places::packed, &spool, result.table);
  scan(*file, packed, cancelled);
  spool.flush();
  result.spooled = spool.bytes();
  result.file = spool.release();
  return result;
}

StoredFile open_stored_files(const std::vector<std::string>& paths, const std::function<bool()>& cancelled) {
  StoredFile result;
  Spool spool;
  for (const std::string& path : paths) {
    hts::TextFile file({path, "", "check the path of the FASTA or FASTQ file"}, piece_bytes);
    SequenceScan packed(path, Places::packed, &spool, result.table);
    packed.begin_packed_at(spool.bytes());
    const std::size_t before = result.table.length.size();
    scan(file, packed, cancelled);
    spool.flush();
    if (result.table.length.size() == before) result.empty_files.push_back(path);
  }
  result.why_spooled = "there are several files";
  result.spooled = spool.bytes();
  result.file = spool.release();
  return result;
}

}  // namespace sluice::sequence_store
