// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/call_mark.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "machine/sanitizers.hpp"
#include "run/run_context.hpp"

namespace sluice {
namespace {

thread_local const CallMark* marked = nullptr;

// 64 KiB: the handler needs some hundred bytes, the kernel up to 12 KiB for the registers of AVX-512 and AMX.
class SignalStack {
 public:
  SignalStack() : memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) return;  // an overflow will end without words
    stack_t stack{};
    stack.ss_sp = memory_;
    stack.ss_size = bytes;
    ::sigaltstack(&stack, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  ~SignalStack() {
    if (memory_ == MAP_FAILED) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    ::munmap(memory_, bytes);
  }

 private:
  static constexpr std::size_t bytes = std::size_t{64} << 10;
  void* memory_;
};

void give_signal_stack() {
#ifndef SLUICE_SANITIZED  // sanitizers bring their own
  thread_local const SignalStack stack;
  static_cast<void>(stack);
#endif
}

// Appends to a text of fixed size.
class SignalText {
 public:
  SignalText(char* text, std::size_t capacity) : text_(text), capacity_(capacity) {}
  SignalText& operator<<(std::string_view part) {
    const std::size_t bytes = std::min(part.size(), capacity_ - size_);
    std::copy_n(part.data(), bytes, text_ + size_);
    size_ += bytes;
    return *this;
  }
  SignalText& operator<<(std::uint64_t number) {
    char digits[20];
    std::size_t first = sizeof digits;
    do digits[--first] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return *this << std::string_view(digits + first, sizeof digits - first);
  }
  std::size_t size() const { return size_; }

 private:
  char* text_;
  std::size_t capacity_, size_ = 0;
};

}  // namespace

CallMark::CallMark(const sluice_host& host, std::uint64_t sequence, std::int64_t rows)
    : host_(&host), sequence_(sequence), rows_(rows), outer_(marked) {
  give_signal_stack();
  marked = this;
}

CallMark::CallMark(const CallMark* caller, const sluice_host& host)
    : CallMark(host, caller == nullptr ? no_batch : caller->sequence_, caller == nullptr ? 0 : caller->rows_) {}

CallMark::~CallMark() { marked = outer_; }

const CallMark* CallMark::current() { return marked; }

std::size_t CallMark::describe_current(char* text, std::size_t capacity) {
  SignalText out(text, capacity);
  if (marked == nullptr) {
    if (const char* const file = Registry::file_being_loaded())
      out << "the plugin " << file << ", which was being loaded";
    else
      out << "a thread that was in no stage";
    return out.size();
  }
  const ResolvedStage& stage = *marked->host_->stage;
  const bool is_resource = stage.entry.descriptor->kind == SLUICE_RESOURCE;
  out << (is_resource ? "resource '" : "stage '") << stage.name << "' of plugin '" << stage.entry.plugin->name << "'";
  if (marked->sequence_ != no_batch) out << ", batch " << marked->sequence_ << " (" << static_cast<std::uint64_t>(marked->rows_) << " rows)";
  return out.size();
}

}  // namespace sluice
