// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/journal_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>

#include "machine/checksum.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

// The first line of a journal. The rest: bytes of the description (8, this machine's order), the description as MessagePack, which takes names of
// files as they are, the states one behind the other, and XXH3 of all of that as text.
constexpr std::string_view first_line = "sluice journal 1\n";
constexpr std::size_t checksum_bytes = 16;
constexpr std::size_t least_bytes = first_line.size() + sizeof(std::uint64_t) + checksum_bytes;
constexpr std::size_t most_description_bytes = std::size_t{64} << 20;  // some 300,000 input files; in memory it is ten times as large
constexpr int deepest = 8;

[[noreturn]] void fail_damaged(const std::filesystem::path& journal) {
  throw Failure::input("'" + journal.string() + "', which says how far the run came, is damaged or of another version of sluice", begin_anew);
}

Json described(const StagePoint& stage) {
  return {{"next", stage.next},
          {"emitted", stage.emitted},
          {"ended", stage.ended},
          {"position", stage.position},
          {"bytes", stage.spooled ? stage.spooled->bytes() : 0}};
}

Json described(const StageCounts& counts) {
  Json outcomes = Json::object();
  for (const auto& [name, outcome] : counts.outcomes) outcomes[name] = {outcome.good, outcome.total};
  return {{"batches", counts.batches},           {"rows_in", counts.rows_in}, {"rows_out", counts.rows_out},
          {"output_bytes", counts.output_bytes}, {"failed", counts.failed},   {"accounted", counts.accounted},
          {"nameless", counts.nameless},         {"outcomes", outcomes},      {"counters", counts.counters}};
}

StageCounts counts_of(const Json& json) {
  StageCounts counts;
  counts.batches = json.at("batches");
  counts.rows_in = json.at("rows_in");
  counts.rows_out = json.at("rows_out");
  counts.output_bytes = json.at("output_bytes");
  json.at("failed").get_to(counts.failed);
  json.at("accounted").get_to(counts.accounted);
  json.at("nameless").get_to(counts.nameless);
  for (const auto& [name, outcome] : json.at("outcomes").items()) counts.outcomes[name] = {outcome.at(0), outcome.at(1)};
  json.at("counters").get_to(counts.counters);
  return counts;
}

// Looks how deep MessagePack nests before a tree is made of it: whoever makes the tree goes down in it, as far as the stack reaches.
class Shallow : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= deepest; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override { return ++depth_ <= deepest; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  int depth_ = 0;
};

// An open file, mapped for as long as anybody holds it.
class MappedJournal {
 public:
  MappedJournal(const std::filesystem::path& journal, int file, std::size_t bytes) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory_ == MAP_FAILED) throw Failure::input("cannot map '" + journal.string() + "' into memory: " + std::strerror(errno), begin_anew);
  }
  ~MappedJournal() { ::munmap(memory_, bytes_); }
  MappedJournal(const MappedJournal&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(memory_), bytes_}; }

 private:
  void* memory_;
  std::size_t bytes_;
};

// Read rather than mapped, so that pages of states that are not looked at yet take no memory.
bool has_its_checksum(int file, std::size_t bytes) {
  std::string piece(SpoolFile::buffer_bytes, '\0'), end(checksum_bytes, '\0');
  const auto read = [&](std::string& to, std::size_t count, std::size_t at) {
    ssize_t got = 0;
    while ((got = ::pread(file, to.data(), count, static_cast<off_t>(at))) < 0 && errno == EINTR) {
    }
    return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  };
  Checksum sum;
  for (std::size_t at = 0; at < bytes - checksum_bytes;) {
    const std::size_t got = read(piece, std::min(piece.size(), bytes - checksum_bytes - at), at);
    if (got == 0) return false;
    sum.add(std::string_view(piece).substr(0, got));
    at += got;
  }
  return read(end, checksum_bytes, bytes - checksum_bytes) == checksum_bytes && end == sum.text();
}

std::shared_ptr<const MappedJournal> mapped(const std::filesystem::path& journal, int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid())
    throw Failure::input("'" + journal.string() + "', which says how far the run came, is no file of yours", begin_anew);
  const auto bytes = static_cast<std::size_t>(info.st_size);
  if (bytes < least_bytes || !has_its_checksum(file, bytes)) fail_damaged(journal);
  return std::make_shared<const MappedJournal>(journal, file, bytes);
}

}  // namespace

void write_journal(const std::filesystem::path& journal, const RunIdentity& identity, const Checkpoint& checkpoint) {
  const std::uint64_t account_bytes = checkpoint.spooled_account ? checkpoint.spooled_account->bytes() : 0;
  Json description{{"identity", identity}, {"stages", Json::object()}, {"files", Json::array()}, {"counts", Json::object()}};
  description["account_bytes"] = account_bytes;
  for (const auto& [name, counts] : checkpoint.counts) description["counts"][name] = described(counts);
  for (const auto& [name, stage] : checkpoint.stages) description["stages"][name] = described(stage);
  for (const FilePoint& file : checkpoint.files)
    description["files"].push_back({{"path", file.path}, {"temporary", file.temporary}, {"bytes", file.bytes}, {"xxh3", file.xxh3}});
  std::string text;
  Json::to_msgpack(description, text);
  if (text.size() > most_description_bytes) throw Failure::output("what there is to say of its files is more than a journal may have");
  const std::uint64_t bytes = text.size();
  StagedFile file(journal.string());
  Checksum digest;
  const auto put = [&](std::string_view piece) {
    digest.add(piece);
    file.write(piece);
  };
  put(first_line);
  put({reinterpret_cast<const char*>(&bytes), sizeof bytes});
  put(text);
  for (const auto& [name, stage] : checkpoint.stages)
    if (stage.spooled) stage.spooled->give(put);
  if (checkpoint.spooled_account) checkpoint.spooled_account->give(put);
  file.write(digest.text());
  file.publish();
}

Journal parse_journal(std::string_view rest, const std::filesystem::path& journal) {
  if (!rest.starts_with(first_line) || rest.size() < least_bytes) fail_damaged(journal);
  rest = rest.substr(first_line.size(), rest.size() - first_line.size() - checksum_bytes);
  const auto take = [&](std::uint64_t count) {
    if (count > rest.size()) fail_damaged(journal);
    const std::string_view taken = rest.substr(0, static_cast<std::size_t>(count));
    rest.remove_prefix(taken.size());
    return taken;
  };
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, take(sizeof bytes).data(), sizeof bytes);
  if (bytes > most_description_bytes) fail_damaged(journal);
  const std::string_view text = take(bytes);
  Shallow shallow;
  if (!Json::sax_parse(text, &shallow, Json::input_format_t::msgpack)) fail_damaged(journal);
  Journal result;
  try {
    const Json description = Json::from_msgpack(text);
    result.identity = description.at("identity").get<RunIdentity>();
    for (const auto& [name, stage] : description.at("stages").items()) {
      StagePoint& point = result.checkpoint.stages[name];
      point.next = stage.at("next");
      point.emitted = stage.at("emitted");
      point.ended = stage.at("ended");
      point.position = stage.at("position");
      point.state = take(stage.at("bytes"));
    }
    for (const Json& file : description.at("files"))
      result.checkpoint.files.push_back({file.at("path"), file.at("temporary"), file.at("bytes"), file.at("xxh3")});
    for (const auto& [name, counts] : description.at("counts").items()) result.checkpoint.counts[name] = counts_of(counts);
    result.checkpoint.account = take(description.at("account_bytes"));
  } catch (const Json::exception&) {
    fail_damaged(journal);
  }
  const auto may_be_left = [](const FilePoint& file) { return StagedFile::may_be_left_of(file.path, file.temporary); };
  if (!std::all_of(result.checkpoint.files.begin(), result.checkpoint.files.end(), may_be_left))
    throw Failure::input("'" + journal.string() + "', which says how far the run came, names files that this run can't have left", begin_anew);
  return result;
}

bool is_left(const std::string& temporary) {
  std::error_code error;
  return std::filesystem::is_regular_file(std::filesystem::symlink_status(temporary, error));
}

std::optional<Journal> read_journal(const std::filesystem::path& journal) {
  const int file = ::open(journal.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0) throw Failure::input("cannot open '" + journal.string() + "', which says how far the run came: " + std::strerror(errno), begin_anew);
  std::shared_ptr<const MappedJournal> kept;
  try {
    kept = mapped(journal, file);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  Journal result = parse_journal(kept->bytes(), journal);
  for (FilePoint& of : result.checkpoint.files)  // what an interrupted run has finished has a name of its own
    if (!is_left(of.temporary)) of.temporary = followed(of.path).string() + ".partial";
  result.checkpoint.mapping = std::move(kept);
  return result;
}

}  // namespace sluice
