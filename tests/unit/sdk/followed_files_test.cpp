// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sluice/followed_files.hpp>
#include <sluice/testing.hpp>

namespace sluice {
namespace {

namespace fs = std::filesystem;
const std::string bgzf_start("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x30\0", 18);
const std::string bgzf_end("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28);

// A folder that is looked at, at times that the test says.
struct Folder {
  testing::TemporaryFolder folder;
  double now = 100;
  FollowedFiles files;

  explicit Folder(double idle = 0, const std::string& until = "") : files({folder.path(), ".fq .fq.gz", until, idle, 10}) {}
  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  void append(const std::string& name, const std::string& text) const { std::ofstream(path(name), std::ios::binary | std::ios::app) << text; }
  void look(double later = 1) { files.look(now += later); }
  // The name of the next file, as if a reader had begun it; "": none.
  std::string begin() {
    FollowedFiles::File* file = files.next();
    if (file == nullptr) return "";
    file->state = FollowedFiles::State::begun;
    file->offered = file->bytes;
    return fs::path(file->path).filename();
  }
  FollowedFiles::File& file(const std::string& name) {
    for (FollowedFiles::File& one : files.files())
      if (one.path == path(name)) return one;
    throw std::logic_error("no " + name);
  }
  void end(const std::string& name) {
    file(name).state = FollowedFiles::State::done;
    file(name).resume_at = file(name).bytes;
  }
};

TEST_CASE("whole files come in the order in which they were seen to be whole, by name where that is at once") {
  Folder f;
  f.write("c.fq.gz", bgzf_start + bgzf_end);
  f.write("a.fq.gz", bgzf_start);
  f.look();
  f.write("b.fq.gz", bgzf_start + bgzf_end);
  f.write("0.fq.gz", bgzf_start + bgzf_end);
  f.look();
  f.append("a.fq.gz", bgzf_end);
  f.look();
  for (const char* name : {"c.fq.gz", "0.fq.gz", "b.fq.gz", "a.fq.gz"}) {
    CHECK(f.begin() == name);
    f.end(name);
  }
  CHECK(f.begin() == "");
}

TEST_CASE("a file that grows has its turn when no whole one waits, and is passed over until it has more") {
  Folder f;
  f.write("a.fq.gz", bgzf_start);
  f.look();
  CHECK(f.begin() == "a.fq.gz");
  CHECK(f.begin() == "");
  CHECK_FALSE(f.files.others_wait(f.file("a.fq.gz")));
  f.write("b.fq.gz", bgzf_start + bgzf_end);
  f.look();
  CHECK(f.files.others_wait(f.file("a.fq.gz")));
  f.append("a.fq.gz", "more");
  f.look();
  CHECK(f.begin() == "b.fq.gz");
  f.end("b.fq.gz");
  CHECK(f.begin() == "a.fq.gz");
}

TEST_CASE("a file without a mark is whole when it has been quiet; one that had been quiet before it was seen is whole at once") {
  Folder f;
  f.write("b.fq", "@r\nA\n+\nI\n");
  f.look();
  CHECK(f.file("b.fq").whole == 0);
  f.look(8);
  f.append("b.fq", "@s");
  f.look();
  f.look(9);
  CHECK(f.file("b.fq").whole == 0);
  f.look();
  CHECK(f.file("b.fq").whole == 1);
  const std::string old = f.write("a.fq", "@r\nA\n+\nI\n");
  fs::last_write_time(old, fs::last_write_time(old) - std::chrono::minutes(1));
  f.look();
  CHECK(f.file("a.fq").whole == 2);
}

TEST_CASE("empty files, folders, links to nothing, pipes, hidden files, other endings and second names are left alone") {
  Folder f;
  f.write("empty.fq", "");
  fs::create_directories(f.path("folder.fq"));
  fs::create_symlink("nowhere.fq", f.path("link.fq"));
  REQUIRE(::mkfifo(f.path("pipe.fq").c_str(), 0600) == 0);
  f.write(".hidden.fq", "@r\nA\n+\nI\n");
  f.write("notes.txt", "@r\nA\n+\nI\n");
  f.look();
  f.look(20);
  CHECK(f.begin() == "");
  CHECK(f.files.files().size() == 1);
  f.write("inner.fq.gz", bgzf_start + bgzf_end);
  fs::create_hard_link(f.path("inner.fq.gz"), f.path("second.fq.gz"));
  f.look();
  CHECK(f.begin() == "inner.fq.gz");
  f.end("inner.fq.gz");
  CHECK(f.begin() == "");
  fs::rename(f.path(".hidden.fq"), f.path("shown.fq"));
  f.look();
  f.look(20);
  CHECK(f.begin() == "shown.fq");
}

TEST_CASE("a file that is renamed stays the same file") {
  Folder f;
  f.write("a.fq.gz", bgzf_start);
  f.look();
  CHECK(f.begin() == "a.fq.gz");
  fs::rename(f.path("a.fq.gz"), f.path("b.fq.gz"));
  f.look();
  CHECK(f.file("b.fq.gz").state == FollowedFiles::State::begun);
  f.append("b.fq.gz", bgzf_end);
  f.look();
  f.end("b.fq.gz");
  fs::rename(f.path("b.fq.gz"), f.path("c.fq.gz"));
  f.look();
  f.look();
  CHECK(f.begin() == "");
  CHECK(f.files.files().size() == 1);
  CHECK(f.files.files()[0].problem == "");
}

TEST_CASE("what becomes shorter, is replaced or goes away is said") {
  Folder f;
  for (const char* name : {"gone.fq.gz", "new.fq.gz", "short.fq.gz"}) f.write(name, bgzf_start + "some text");
  f.look();
  for (const char* name : {"gone.fq.gz", "new.fq.gz", "short.fq.gz"}) CHECK(f.begin() == name);
  f.write("waiting.fq.gz", bgzf_start);
  f.look();
  fs::remove(f.path("gone.fq.gz"));
  fs::remove(f.path("waiting.fq.gz"));
  f.write("short.fq.gz", bgzf_start);
  f.write("another.txt", bgzf_start);
  fs::rename(f.path("another.txt"), f.path("new.fq.gz"));
  f.look();
  f.look();
  CHECK(f.file("gone.fq.gz").problem == "has gone while it was read");
  CHECK(f.file("waiting.fq.gz").problem == "has gone before it was read");
  CHECK(f.file("short.fq.gz").problem == "has become shorter: 18 bytes instead of 27");
  CHECK(f.file("new.fq.gz").problem == "was replaced by another file while it was read");
}

TEST_CASE("a file that grows after it was taken for whole is read on from where a record can begin") {
  Folder f;
  const std::string text = "@r\nA\n+\nI\n";
  f.write("a.fq", text);
  f.write("b.fq", text + "@s");
  f.look();
  f.look(20);
  for (const char* name : {"a.fq", "b.fq"}) {
    CHECK(f.begin() == name);
    f.end(name);
  }
  f.append("a.fq", text);
  f.append("b.fq", "tuv\nA\n+\nI\n");
  f.look();
  CHECK(f.file("b.fq").problem == "has grown after it had been taken for whole, and what came later is not read");
  CHECK(f.begin() == "a.fq");
  CHECK(f.file("a.fq").begin_at == text.size());
}

TEST_CASE("it ends by a file, or when nothing comes, with all that was there before") {
  Folder by_file;
  by_file.write("a.fq.gz", bgzf_start);
  by_file.look();
  CHECK(by_file.files.end() == "");
  by_file.write("b.fq.gz", bgzf_start);
  by_file.write(usual_stop_file, "");
  by_file.look();
  CHECK(by_file.files.end() == "'" + by_file.path("sluice.stop") + "' is there");
  CHECK(by_file.begin() == "a.fq.gz");
  by_file.end("a.fq.gz");
  CHECK(by_file.begin() == "b.fq.gz");

  testing::TemporaryFolder elsewhere;
  Folder by_name(0, elsewhere.path() + "/now");
  by_name.write(usual_stop_file, "");
  by_name.look();
  CHECK(by_name.files.end() == "");
  std::ofstream(elsewhere.path() + "/now");
  by_name.look();
  CHECK(by_name.files.end() != "");

  Folder idle(30);
  idle.look();
  idle.look(29);
  CHECK(idle.files.end() == "");
  idle.write("a.fq.gz", bgzf_start + bgzf_end);
  idle.look();
  idle.look(40);
  CHECK(idle.files.end() == "");  // it has not been read yet
  CHECK(idle.begin() == "a.fq.gz");
  idle.end("a.fq.gz");
  idle.look();
  CHECK(idle.files.end() == "nothing new came for 30 s");
}

TEST_CASE("what comes to inputs that others follow counts, too: it is not idle, and their folders may end it") {
  testing::TemporaryFolder signal, reads;
  const auto grow = [](const std::string& path) { std::ofstream(path, std::ios::app) << "more"; };
  Folder f;
  FollowRules rules{f.folder.path(), ".fq", "", 30, 10};
  rules.also = signal.path() + "\n" + reads.path() + "\n";
  FollowedFiles files(rules);
  files.look(100);
  files.look(129);
  grow(signal.path() + "/a.blow5");
  files.look(135);
  CHECK(files.end() == "");
  CHECK(files.changed() == 135);
  files.look(160);
  grow(signal.path() + "/a.blow5");
  files.look(170);
  CHECK(files.end() == "");
  grow(reads.path() + "/notes.txt");
  grow(reads.path() + "/.hidden.fastq");
  files.look(199);
  CHECK(files.end() == "");
  files.look(200);
  CHECK(files.end() == "nothing new came for 30 s");
  CHECK(files.files().empty());

  FollowedFiles told(rules);
  std::ofstream(reads.path() + "/sluice.stop");
  told.look(100);
  CHECK(told.end() == "'" + reads.path() + "/sluice.stop' is there");
}

}  // namespace
}  // namespace sluice
