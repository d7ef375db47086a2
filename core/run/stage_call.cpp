// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/stage_call.hpp"

#include <new>
#include <system_error>
#include <utility>

namespace sluice {

void CallResult::set_failure(sluice_status code, std::string what, std::string what_to_do) {
  status = code;
  message = std::move(what);
  remedy = std::move(what_to_do);
}

void CallResult::set_current_exception() noexcept {
  try {
    try {
      throw;
    } catch (const Failure& failure) {
      set_failure(failure.status(), failure.what(), failure.remedy());
    } catch (const std::bad_alloc&) {
      set_failure(SLUICE_ERROR_MEMORY, "out of memory", "lower --memory or --threads, or use a machine with more memory");
    } catch (const std::system_error& error) {  // a thread that can't be started
      set_failure(SLUICE_ERROR_MEMORY, std::string("out of memory or threads: ") + error.what(), "lower --threads, or raise ulimit -v and -u");
    } catch (const std::exception& exception) {
      set_failure(SLUICE_ERROR_INTERNAL, exception.what());
    } catch (...) {
      set_failure(SLUICE_ERROR_INTERNAL, "an exception of an unknown type");
    }
  } catch (...) {  // not even room for the words: these need none
    status = SLUICE_ERROR_MEMORY;
    message = "out of memory";
    remedy.clear();
  }
}

void throw_unless_ok(sluice_status status, const sluice_error& error) {
  if (status == SLUICE_OK) return;
  throw Failure(status, error.message[0] != '\0' ? error.message : "failed with status " + std::to_string(status), error.remedy);
}

}  // namespace sluice
