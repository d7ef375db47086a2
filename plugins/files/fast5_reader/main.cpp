// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The program fast5_reader: reads what FAST5 files are made of with HDF5, for signal_reader, which starts it. HDF5 believes what a file says, so a
// damaged one can end this process, or keep it busy: then it ends, and whoever asked knows.
//
// The socket is descriptor 3. A question is one byte with a descriptor of the file; the answer is the length of the table (u64), and the table.

#include <hdf5.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "fast5_reader/structure.hpp"

namespace {

constexpr int questions = 3;
constexpr time_t most_seconds = 5;  // of processor time a read, which takes a fifth of a millisecond

// -1: nobody asks any more.
int next_file() {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  while ((got = ::recvmsg(questions, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const cmsghdr* const header = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return file;
}

bool say(const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t said = ::send(questions, bytes, size, MSG_NOSIGNAL);
    if (said < 0 && errno == EINTR) continue;
    if (said <= 0) return false;
    bytes += said;
    size -= static_cast<std::size_t>(said);
  }
  return true;
}

void limit_memory() {
#ifndef SLUICE_SANITIZED  // a sanitizer needs terabytes of addresses
  constexpr rlim_t most_memory = rlim_t{4} << 30;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most_memory)) {
    limit.rlim_cur = most_memory;
    ::setrlimit(RLIMIT_AS, &limit);
  }
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

// From now on so much processor time, then SIGPROF ends the process.
void limit_time() {
  const itimerval limit{{0, 0}, {most_seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

sluice::Fast5Table look_at(int file) {
  limit_time();
  try {
    return sluice::fast5_reader::structure_of("/proc/self/fd/" + std::to_string(file), limit_time);
  } catch (const std::exception& problem) {
    sluice::Fast5Table table;
    table.problem = problem.what();
    return table;
  }
}

}  // namespace

int main() {
  limit_memory();
  // Files on network file systems can't always be locked, and nothing is written here. Who sets it knows why.
  ::setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  for (int file; (file = next_file()) >= 0; ::close(file)) {
    const std::string table = sluice::packed(look_at(file));
    const std::uint64_t size = table.size();
    if (!say(reinterpret_cast<const char*>(&size), sizeof size) || !say(table.data(), table.size())) break;
  }
  return 0;
}
