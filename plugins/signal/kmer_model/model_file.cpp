// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/model_file.hpp"

#include <dlfcn.h>
#include <lzma.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sluice/failure.hpp>
#include <system_error>

namespace sluice::kmer_model {
namespace {

// No model is larger: the 9-mer methylation models have 55 MB of text. It bounds what a damaged or hostile compressed file can make us allocate.
constexpr std::size_t max_text_bytes = std::size_t{4} << 30;

[[noreturn]] void fail(const std::string& path, const std::string& what, const std::string& remedy = "copy the file again and compare checksums") {
  throw Failure::input("k-mer model '" + path + "' " + what, remedy);
}

// Room for more text after `filled` bytes.
void grow(const std::string& path, std::vector<char>& text, std::size_t filled) {
  if (filled >= max_text_bytes) fail(path, "has more than 4 GiB of text", "give a k-mer model in the text format of nanopolish and f5c");
  if (text.size() - filled < (std::size_t{1} << 20)) text.resize(text.size() + text.size() / 2 + (std::size_t{4} << 20));
}

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Plain text passes through zlib unchanged.
std::vector<char> read_gzip(const std::string& path) {
  const std::unique_ptr<gzFile_s, CloseGzip> file(gzopen(path.c_str(), "rb"));
  if (!file) fail(path, std::string("cannot be opened: ") + std::strerror(errno), "check the path of the model");
  gzbuffer(file.get(), 1U << 17);
  std::vector<char> text;
  std::size_t filled = 0;
  while (true) {
    grow(path, text, filled);
    const int got = gzread(file.get(), text.data() + filled, 1U << 20);
    int problem = Z_OK;
    if (got < 0 && (gzerror(file.get(), &problem), problem == Z_MEM_ERROR)) throw std::bad_alloc();
    if (got < 0) fail(path, "is truncated or damaged: its compressed data breaks after " + std::to_string(filled) + " bytes of text");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  int status = Z_OK;
  gzerror(file.get(), &status);
  if (status == Z_BUF_ERROR) fail(path, "is truncated: its compressed data ends after " + std::to_string(filled) + " bytes of text");
  text.resize(filled);
  return text;
}

std::vector<char> read_xz(const std::string& path, std::FILE* file) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, std::uint64_t{1} << 30, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> release(&stream, lzma_end);
  std::vector<std::uint8_t> input(1U << 17);
  std::vector<char> text;
  std::size_t filled = 0;
  lzma_ret status = LZMA_OK;
  while (status != LZMA_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.avail_in = std::fread(input.data(), 1, input.size(), file);
      stream.next_in = input.data();
    }
    grow(path, text, filled);
    stream.next_out = reinterpret_cast<std::uint8_t*>(text.data() + filled);
    stream.avail_out = text.size() - filled;
    status = lzma_code(&stream, stream.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
    filled = text.size() - stream.avail_out;
    if (status == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (status != LZMA_OK && status != LZMA_STREAM_END)
      fail(path, "is truncated or damaged: its compressed data ends or breaks after " + std::to_string(filled) + " bytes of text");
  }
  text.resize(filled);
  return text;
}

// Its address tells which file this code was loaded from.
void anchor() {}

}  // namespace

std::vector<char> read_model_text(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, std::string("cannot be opened: ") + std::strerror(errno), "check the path of the model");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(path, "is a folder", "give a k-mer model in the text format of nanopolish and f5c");
  char magic[6] = {};
  const std::size_t got = std::fread(magic, 1, sizeof magic, file.get());
  if (got == 0) fail(path, "is empty", "give a k-mer model in the text format of nanopolish and f5c");
  if (got == sizeof magic && std::memcmp(magic, "\xFD\x37zXZ\0", 6) == 0) {
    std::rewind(file.get());
    return read_xz(path, file.get());
  }
  return read_gzip(path);
}

std::string find_builtin_model(const std::string& file_name) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&anchor), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  if (error) return {};
  std::filesystem::path folder = library.parent_path();
  const std::filesystem::path beside = folder.parent_path() / "models" / file_name;
  if (std::filesystem::exists(beside, error)) return beside.string();
  // lib/sluice/plugins, or lib/x86_64-linux-gnu/sluice/plugins: the prefix is three or four levels up.
  for (int level = 0; level < 5 && folder.has_parent_path(); ++level) {
    folder = folder.parent_path();
    const std::filesystem::path shared = folder / "share" / "sluice" / "models" / file_name;
    if (std::filesystem::exists(shared, error)) return shared.string();
  }
  return {};
}

}  // namespace sluice::kmer_model
