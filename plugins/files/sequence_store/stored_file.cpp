// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/stored_file.hpp"

#include <fcntl.h>
#include <htslib/bgzf.h>
#include <htslib/hts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sluice/failure.hpp>
#include <vector>

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

struct CloseBgzf {
  void operator()(BGZF* file) const { bgzf_close(file); }
};

// False: uneven lines in a file that is scanned in place.
bool scan(BGZF* file, const std::string& path, SequenceScan& scan, const std::function<bool()>& cancelled) {
  std::vector<char> piece(piece_bytes);
  bool empty = true;
  while (!cancelled()) {
    const ssize_t got = bgzf_read(file, piece.data(), piece.size());
    if (got < 0) throw Failure::input("'" + path + "' is truncated or damaged", "copy the file again and compare checksums");
    if (got == 0) break;
    empty = false;
    if (!scan.feed({piece.data(), static_cast<std::size_t>(got)})) return false;
  }
  if (cancelled()) return true;
  if (empty) throw Failure::input("'" + path + "' is empty", "give a FASTA or FASTQ file");
  if (file->is_compressed != 0 && file->is_gzip == 0 && file->no_eof_block != 0)
    throw Failure::input("'" + path + "' is truncated: it has no BGZF end-of-file block", "copy the file again, or compress it again with `bgzip`");
  return scan.finish();
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) ::close(number_);
}

StoredFile open_stored_file(const std::string& path, const std::function<bool()>& cancelled) {
  hts_set_log_level(HTS_LOG_OFF);  // what it would print is said by our own errors, once and with the file's name
  const auto open = [&] {
    std::unique_ptr<BGZF, CloseBgzf> file(bgzf_open(path.c_str(), "r"));
    if (!file) throw Failure::input("cannot open '" + path + "': " + std::strerror(errno), "check the path of the FASTA or FASTQ file");
    return file;
  };
  StoredFile result;
  std::unique_ptr<BGZF, CloseBgzf> file = open();
  struct stat info {};
  const bool is_file = path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  const bool plain = is_file && file->is_compressed == 0;
  result.why_spooled = !is_file ? "it is no file that can be read twice"
                       : !plain
                           ? "it is compressed, and its sequences are fetched many times (an index does not change that): decompress it to save this"
                           : "its records have lines of unequal length: `seqtk seq` writes each on one line";
  if (plain) {
    result.file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (result.file.number() < 0) throw Failure::input("cannot open '" + path + "': " + std::strerror(errno), "check the path");
    SequenceScan in_place(path, Places::in_text, nullptr, result.table);
    if (scan(file.get(), path, in_place, cancelled)) return result;
    result.table = {};
    file = open();
  }
  Spool spool;
  SequenceScan packed(path, Places::packed, &spool, result.table);
  scan(file.get(), path, packed, cancelled);
  spool.flush();
  result.spooled = spool.bytes();
  result.file = spool.release();
  return result;
}

}  // namespace sluice::sequence_store
