// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/state_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <sluice/failure.hpp>
#include <utility>

#include "machine/checksum.hpp"

namespace sluice {
namespace {

constexpr std::string_view state_magic = "SLSTATE1";
constexpr std::size_t state_footer_bytes = 2 * sizeof(std::uint64_t);

template <class Number>
std::string number_bytes(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

template <class Number>
Number number_at(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

// The text in front of `rest`, which is left behind it.
std::optional<std::string> taken_text(std::string_view& rest) {
  if (rest.size() < sizeof(std::uint32_t)) return std::nullopt;
  const auto length = number_at<std::uint32_t>(rest.data());
  rest.remove_prefix(sizeof length);
  if (length > rest.size()) return std::nullopt;
  std::string text(rest.substr(0, length));
  rest.remove_prefix(length);
  return text;
}

// The state in a whole file, and what is in front of it; nothing: it is damaged.
std::optional<std::pair<StateHead, std::string_view>> parsed_state(std::string_view file) {
  if (file.size() < state_magic.size() + state_footer_bytes || !file.starts_with(state_magic)) return std::nullopt;
  const char* const footer = file.data() + file.size() - state_footer_bytes;
  Checksum sum;
  sum.add(file.substr(0, file.size() - sizeof(std::uint64_t)));
  if (sum.value() != number_at<std::uint64_t>(footer + sizeof(std::uint64_t))) return std::nullopt;
  std::string_view rest = file.substr(state_magic.size(), file.size() - state_magic.size() - state_footer_bytes);
  auto regroup = taken_text(rest), build_id = taken_text(rest), pipeline = taken_text(rest);
  if (!regroup || !build_id || !pipeline || rest.size() != number_at<std::uint64_t>(footer)) return std::nullopt;
  return std::pair(StateHead{std::move(*regroup), std::move(*build_id), std::move(*pipeline)}, rest);
}

}  // namespace

void write_state_file(const StateHead& head, const std::function<void(const WritePiece&)>& save, const WritePiece& write) {
  Checksum sum;
  const auto put = [&](std::string_view bytes) {
    sum.add(bytes);
    write(bytes);
  };
  std::string front(state_magic);
  for (const std::string* text : {&head.regroup, &head.build_id, &head.pipeline})
    front += number_bytes(static_cast<std::uint32_t>(text->size())) + *text;
  put(front);
  std::uint64_t state_bytes = 0;
  save([&](std::string_view piece) {
    state_bytes += piece.size();
    put(piece);
  });
  put(number_bytes(state_bytes));
  write(number_bytes(sum.value()));
}

StateFile::StateFile(const std::filesystem::path& path) {
  const std::string name = "'" + path.string() + "'";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (file < 0 || ::fstat(file, &info) != 0) {
    const int code = errno;
    if (file >= 0) ::close(file);
    throw Failure::input("cannot open " + name + ": " + std::strerror(code), "check the path");
  }
  bytes_ = static_cast<std::size_t>(info.st_size);
  void* const mapped = bytes_ == 0 ? MAP_FAILED : ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (mapped != MAP_FAILED) mapped_ = static_cast<const char*>(mapped);
  auto parsed = mapped_ == nullptr ? std::nullopt : parsed_state({mapped_, bytes_});
  if (!parsed) {
    if (mapped_ != nullptr) ::munmap(const_cast<char*>(mapped_), bytes_);
    throw Failure::input(name + " is no state of a shard, or a damaged one", "make this shard again");
  }
  head_ = std::move(parsed->first);
  state_ = parsed->second;
}

StateFile::StateFile(StateFile&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)), bytes_(other.bytes_), head_(std::move(other.head_)), state_(other.state_) {}

StateFile::~StateFile() {
  if (mapped_ != nullptr) ::munmap(const_cast<char*>(mapped_), bytes_);
}

}  // namespace sluice
