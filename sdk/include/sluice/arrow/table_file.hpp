// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A table's text as an Arrow IPC file: lines become typed columns, in record batches that are made on the run's threads. The user links libzstd.

#include <cstddef>
#include <cstdint>
#include <sluice/arrow/messages.hpp>
#include <sluice/arrow/table_schema.hpp>
#include <sluice/call.hpp>
#include <sluice/saved_state.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::arrow {

class TableFile {
 public:
  // Record batches begin where as much text as this has come, whatever pieces it comes in: the same bytes from every run. Some ten thousand rows.
  static constexpr std::size_t batch_text = std::size_t{1} << 20;

  TableFile(OutputFile file, TableSchema schema) : file_(std::move(file)), schema_(std::move(schema)) {}

  // Before the first line, where the columns are not known from the start.
  void set_schema(TableSchema schema) { schema_ = std::move(schema); }
  // Lines, in pieces of any size.
  void add(std::string_view text) {
    text_ += text;
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    for (std::size_t from = std::max(begin + batch_text, searched_ + 1) - 1; from < text_.size();) {
      const std::size_t end = text_.find('\n', from);
      searched_ = text_.size();
      if (end == std::string::npos) break;
      ends_.push_back(end + 1);
      from = end + batch_text;
    }
  }
  // Writes the finished record batches, when there is one for each thread.
  void write(const Call& call) {
    if (ends_.size() >= static_cast<std::size_t>(call.threads())) encode(call);
  }
  // Writes the rest and closes the file.
  void finish(const Call& call) {
    if (text_.size() > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(text_.size());
    encode(call);
    begin();
    put(file_end(schema_, blocks_));
    file_.close();
  }
  // Writes the finished record batches before.
  void save(const Call& call, StateWriter& to) {
    encode(call);
    to.value(written_);
    to.values(blocks_);
    to.text(text_);
  }
  // For a file that has what was written before save().
  void restore(StateReader& from) {
    written_ = from.value<std::uint64_t>();
    blocks_ = from.values<ipc::Block>();
    text_ = from.text();
  }

 private:
  void encode(const Call& call) {
    if (ends_.empty()) return;
    begin();
    std::vector<Message> encoded(ends_.size());
    call.parallel_for(ends_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t from = i == 0 ? 0 : ends_[i - 1];
        TableCells cells(schema_);
        cells.add_lines(std::string_view(text_).substr(from, ends_[i] - from));
        encoded[i] = record_batch_message(cells);
      }
    });
    for (const Message& message : encoded) {
      blocks_.emplace_back(static_cast<std::int64_t>(written_), static_cast<std::int32_t>(message.metadata_bytes),
                           static_cast<std::int64_t>(message.bytes.size() - message.metadata_bytes));
      put(message.bytes);
    }
    text_.erase(0, ends_.back());
    ends_.clear();
    searched_ = 0;
  }
  void begin() {
    if (written_ > 0) return;
    std::string bytes(file_magic);
    messages::pad(bytes);
    put(bytes + schema_message(schema_).bytes);
  }
  void put(std::string_view bytes) {
    file_.write(bytes);
    written_ += bytes.size();
  }

  OutputFile file_;
  TableSchema schema_;
  std::string text_;               // that is not in the file
  std::vector<std::size_t> ends_;  // of record batches, in text_
  std::size_t searched_ = 0;       // of text_, for the end of a long line
  std::uint64_t written_ = 0;
  std::vector<ipc::Block> blocks_;
};

}  // namespace sluice::arrow
