// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/stream_stage.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <sluice/stage.hpp>

namespace sluice {
namespace {

struct Channels {
  std::mutex mutex;  // guards what follows
  std::int64_t next = 1;
  std::map<std::int64_t, std::weak_ptr<BatchChannel>> by_number;
};

Channels& channels() {
  static auto& all = *new Channels;  // never destroyed: runs of other threads may still end
  return all;
}

std::shared_ptr<BatchChannel> channel_of(std::int64_t number) {
  Channels& all = channels();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_number.find(number);
  std::shared_ptr<BatchChannel> channel = found == all.by_number.end() ? nullptr : found->second.lock();
  if (!channel) throw Failure::usage("this stage is made by programs that take rows out of a run", "use another sink");
  return channel;
}

class StreamToProgram {
 public:
  struct Parameters {
    std::int64_t channel = 0;
    std::optional<std::string> columns;
  };
  static void describe(Describe<StreamToProgram>& d) {
    d.id(stream_stage_id).summary("hands rows to the program that hosts the engine").sink("*");
    d.doc("The library makes it where a program asks for the rows of a stage: see docs/python.md.");
    d.needs("*", "*", "whatever is there, or what `columns` names", Needed::optional);
    d.option("channel", &Parameters::channel, "which of the program's streams").required();
    d.option("columns", &Parameters::columns, "names of columns, separated by commas; without it all that are made anyway").columns();
  }
  StreamToProgram(const Setup&, const Parameters& p) : channel_(channel_of(p.channel)) {}

  void commit(const Call& call, const Batch& in) {
    switch (channel_->put(std::make_shared<BatchData>(batch_behind(in.raw())), [&] { return call.cancelled(); })) {
      case BatchChannel::Put::taken:
        return;
      case BatchChannel::Put::closed:
        throw Failure(SLUICE_ERROR_CLOSED_PIPE, "nobody takes more rows");
      case BatchChannel::Put::cancelled:
        throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
    }
  }

 private:
  const std::shared_ptr<BatchChannel> channel_;
};

const sluice_plugin_info* init(const sluice_init_args*, sluice_error*) {
  static const sluice_plugin_info info = detail::plugin<StreamToProgram>("libsluice", SLUICE_VERSION, "MIT", "");
  return &info;
}

}  // namespace

std::int64_t number_of_channel(const std::shared_ptr<BatchChannel>& channel) {
  Channels& all = channels();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.by_number, [](const auto& entry) { return entry.second.expired(); });
  all.by_number.emplace(all.next, channel);
  return all.next++;
}

void add_stream_stage(Registry& registry) { registry.add(init, "libsluice"); }

}  // namespace sluice
