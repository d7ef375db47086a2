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
#include <functional>
#include <memory>
#include <sluice/failure.hpp>
#include <string_view>
#include <system_error>
#include <vector>

#include "kmer_model/f5c_source.hpp"

namespace sluice::kmer_model {
namespace {

// No model is larger: the 9-mer methylation models have 55 MB of text. It bounds what a damaged or hostile compressed file can make us allocate.
constexpr std::size_t max_text_bytes = std::size_t{4} << 30;

[[noreturn]] void fail(const std::string& path, const std::string& what, const std::string& remedy = "copy the file again and compare checksums") {
  throw Failure::input("k-mer model '" + path + "' " + what, remedy);
}

// Takes a piece of text; false: it needs no more.
using TakeText = std::function<bool(std::string_view)>;

void check_size(const std::string& path, std::size_t bytes) {
  if (bytes > max_text_bytes) fail(path, "has more than 4 GiB of text", "give a k-mer model in the text format of nanopolish and f5c");
}

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Plain text passes through zlib unchanged.
void read_gzip(const std::string& path, const TakeText& take) {
  const std::unique_ptr<gzFile_s, CloseGzip> file(gzopen(path.c_str(), "rb"));
  if (!file) fail(path, std::string("cannot be opened: ") + std::strerror(errno), "check the path of the model");
  gzbuffer(file.get(), 1U << 17);
  std::vector<char> piece(1U << 20);
  std::size_t bytes = 0;
  while (true) {
    const int got = gzread(file.get(), piece.data(), static_cast<unsigned>(piece.size()));
    int problem = Z_OK;
    if (got < 0 && (gzerror(file.get(), &problem), problem == Z_MEM_ERROR)) throw std::bad_alloc();
    if (got < 0) fail(path, "is truncated or damaged: its compressed data breaks after " + std::to_string(bytes) + " bytes of text");
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
    check_size(path, bytes);
    if (!take({piece.data(), static_cast<std::size_t>(got)})) return;
  }
  int status = Z_OK;
  gzerror(file.get(), &status);
  if (status == Z_BUF_ERROR) fail(path, "is truncated: its compressed data ends after " + std::to_string(bytes) + " bytes of text");
}

void read_xz(const std::string& path, std::FILE* file, const TakeText& take) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, std::uint64_t{1} << 30, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> release(&stream, lzma_end);
  std::vector<std::uint8_t> input(1U << 17), piece(1U << 20);
  std::size_t bytes = 0;
  lzma_ret status = LZMA_OK;
  while (status != LZMA_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.avail_in = std::fread(input.data(), 1, input.size(), file);
      stream.next_in = input.data();
    }
    stream.next_out = piece.data();
    stream.avail_out = piece.size();
    status = lzma_code(&stream, stream.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
    const std::size_t got = piece.size() - stream.avail_out;
    bytes += got;
    if (status == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (status != LZMA_OK && status != LZMA_STREAM_END)
      fail(path, "is truncated or damaged: its compressed data ends or breaks after " + std::to_string(bytes) + " bytes of text");
    check_size(path, bytes);
    if (got > 0 && !take({reinterpret_cast<const char*>(piece.data()), got})) return;
  }
}

// Its text piece by piece, the first one as large as the file has it, up to 1 MiB.
void read_pieces(const std::string& path, const TakeText& take) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, std::string("cannot be opened: ") + std::strerror(errno), "check the path of the model");
  char magic[6] = {};
  const std::size_t got = std::fread(magic, 1, sizeof magic, file.get());
  if (got == 0) fail(path, "is empty", "give a k-mer model in the text format of nanopolish and f5c");
  if (got == sizeof magic && std::memcmp(magic, "\xFD\x37zXZ\0", 6) == 0) {
    std::rewind(file.get());
    return read_xz(path, file.get(), take);
  }
  read_gzip(path, take);
}

// f5c's models are arrays of these files, since 1.5 those of CpG in one of their own.
std::string file_of_checkout(const std::string& folder, Alphabet alphabet) {
  std::error_code ignored;
  for (const char* name : {"methmodel.c", "model.h"}) {
    if (alphabet == Alphabet::nucleotide && std::string_view(name) != "model.h") continue;
    for (const char* below : {"src", "."})
      if (const auto file = std::filesystem::path(folder) / below / name; std::filesystem::is_regular_file(file, ignored))
        return file.lexically_normal().string();
  }
  fail(folder, std::string("is a folder without f5c's ") + (alphabet == Alphabet::methylation ? "src/methmodel.c or src/model.h" : "src/model.h"),
       "give a k-mer model in the text format of nanopolish and f5c, or a checkout of f5c");
}

// Its address tells which file this code was loaded from.
void anchor() {}

}  // namespace

LoadedModel load_model(const std::string& path, const ModelUse& use) {
  LoadedModel loaded;
  std::error_code ignored;
  loaded.path = std::filesystem::is_directory(path, ignored) ? file_of_checkout(path, use.alphabet) : path;
  F5cSource source(use);
  std::string text;
  bool is_first = true;
  read_pieces(loaded.path, [&](std::string_view piece) {
    if (is_first && is_c_source(loaded.path, piece)) loaded.layout = ModelLayout::f5c_source;
    is_first = false;
    if (loaded.layout == ModelLayout::f5c_source) return source.take(piece);
    text += piece;
    return true;
  });
  ModelProblem problem;
  const bool is_source = loaded.layout == ModelLayout::f5c_source;
  if (is_source ? source.finish(loaded.model, problem) : parse_kmer_model(text, use.alphabet, loaded.model, problem)) return loaded;
  throw Failure::input((is_source ? "f5c source '" : "k-mer model '") + loaded.path + "'" +
                           (problem.line == 0 ? std::string(": ") : ":" + std::to_string(problem.line) + ": ") + problem.what,
                       is_source ? "is this f5c's src/methmodel.c (f5c 1.5 and later) or src/model.h, complete and unchanged?"
                                 : std::string("give a complete ") + (use.alphabet == Alphabet::methylation ? "methylation" : "nucleotide") +
                                       " model in the text format of nanopolish and f5c");
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
