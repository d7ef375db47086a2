/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * The part of the plugin ABI that a backend for a kind of device implements: the extension "sluice.device/2" of a plugin. */
#ifndef SLUICE_ABI_DEVICE_H
#define SLUICE_ABI_DEVICE_H

#include <sluice/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of device: memory of its own, and streams. What goes to one stream happens in its order and later than the call that asks for it; two
 * streams know nothing of each other but through events. Functions are [thread-safe] for different streams, and one at a time for each stream. A
 * device that fails says SLUICE_ERROR_DEVICE_MEMORY, _KERNEL or _LOST; it may do so in a later call on the same stream. */
#define SLUICE_EXTENSION_DEVICE "sluice.device/2"
typedef struct sluice_device_info {
  uint32_t struct_size;
  char name[128];
  int32_t native_ordinal; /* see sluice_device */
  uint64_t memory_bytes;
  double bytes_per_second; /* host to device, as declared or measured */
  double seconds_per_copy; /* latency */
} sluice_device_info;

typedef struct sluice_device_provider {
  uint32_t struct_size;
  const char* kind;       /* what implementations name as their device */
  double seconds_to_open; /* what waking the driver takes; a run that is over sooner goes without */
  int32_t (*count)(void); /* devices that can be used */
  /* What there is, a line for each device, or why there is none: the i-th line, NULL after the last. May be NULL. */
  const char* (*finding)(size_t i);
  sluice_status (*describe)(int32_t ordinal, sluice_device_info*, sluice_error*);
  sluice_status (*open)(int32_t ordinal, void** device, sluice_error*);
  void (*close)(void* device); /* its streams and memory have been given back */
  /* The calling thread's calls of the device's own library go to this device from now on. NULL: nothing to do. */
  sluice_status (*enter)(void* device, sluice_error*);

  sluice_status (*open_stream)(void* device, void** stream, sluice_error*);
  void (*close_stream)(void* device, void* stream);   /* waits for it */
  void* (*native_stream)(void* device, void* stream); /* what a stage gets as sluice_device.stream. NULL: the stream itself */
  /* Waits until everything that went to the stream has happened, and says if something of it failed. */
  sluice_status (*synchronize)(void* device, void* stream, sluice_error*);

  /* Memory of the device, in the stream's order: what is freed may be handed out again to what follows on the stream. */
  sluice_status (*allocate)(void* device, void* stream, size_t bytes, void** memory);
  void (*free)(void* device, void* stream, void* memory); /* [thread-safe] */
  /* Page-locked memory of the host, from which copies do not pass through anything else. */
  sluice_status (*allocate_host)(void* device, size_t bytes, void** memory);
  void (*free_host)(void* device, void* memory);

  /* Asynchronous copies: both ends stay as they are until the stream has got there. The host end may be any memory. */
  sluice_status (*copy_to_device)(void* device, void* stream, void* destination, const void* source, size_t bytes, sluice_error*);
  sluice_status (*copy_to_host)(void* device, void* stream, void* destination, const void* source, size_t bytes, sluice_error*);
  /* From another device of this provider, without the host. NULL: not offered. */
  sluice_status (*copy_from_peer)(void* device, void* stream, void* destination, void* source_device, const void* source, size_t bytes,
                                  sluice_error*);

  /* An event happens when the stream has done all that went to it before. It is forgotten when nobody waits for it any more. */
  sluice_status (*record)(void* device, void* stream, void** event, sluice_error*);
  sluice_status (*wait)(void* device, void* stream, void* event, sluice_error*); /* what follows on the stream waits for the event */
  sluice_status (*await)(void* device, void* event, sluice_error*);              /* the calling thread does */
  void (*forget)(void* device, void* event);

  /* Named ranges of the calling thread for a profiler. NULL: none. */
  void (*begin_range)(const char* name);
  void (*end_range)(void);
} sluice_device_provider;

#ifdef __cplusplus
}
#endif
#endif
