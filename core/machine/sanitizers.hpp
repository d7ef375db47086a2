// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// SLUICE_SANITIZED is defined where a sanitizer of memory or of threads watches: it wants to see every allocation, and has more to say about a crash.

// Tests have it from the build.

#ifndef SLUICE_SANITIZED
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_SANITIZED
#endif
#endif
