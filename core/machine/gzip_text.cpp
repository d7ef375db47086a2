// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/gzip_text.hpp"

#include <zlib.h>

#include <memory>
#include <new>
#include <utility>

namespace sluice {
namespace {

class Gzip {
 public:
  explicit Gzip(std::function<std::string()> next) : next_(std::move(next)) {
    constexpr int window_of_gzip = 15 + 16, usual_memory = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_of_gzip, usual_memory, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  std::string piece() {
    std::string packed;
    while (packed.empty() && !ended_) {
      const std::string text = next_();
      ended_ = text.empty();
      packed = deflated(text);
    }
    return packed;
  }

 private:
  std::string deflated(const std::string& text) {
    std::string packed;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      const std::size_t before = packed.size();
      packed.resize(before + (std::size_t{64} << 10));
      stream_.next_out = reinterpret_cast<Bytef*>(packed.data() + before);
      stream_.avail_out = static_cast<uInt>(packed.size() - before);
      deflate(&stream_, text.empty() ? Z_FINISH : Z_NO_FLUSH);
      packed.resize(packed.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return packed;
  }

  std::function<std::string()> next_;
  z_stream stream_{};
  bool ended_ = false;
};

}  // namespace

std::function<std::string()> packed_by_name(const std::filesystem::path& file, std::function<std::string()> next) {
  if (file.extension() != ".gz") return next;
  return [gzip = std::make_shared<Gzip>(std::move(next))] { return gzip->piece(); };
}

}  // namespace sluice
