#ifndef ADDONS_TESTS_RPC_LOG_CAPTURE_H_
#define ADDONS_TESTS_RPC_LOG_CAPTURE_H_

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/log.h"

namespace addons::testing {

/// Takes the process's log while it lives. Make it before the threads that log,
/// and let it outlive them.
class LogCapture {
 public:
  explicit LogCapture(spdlog::level::level_enum level = spdlog::level::trace)
      : sink_(std::make_shared<Sink>()), before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("captured", sink_);
    logger->set_pattern("%l %v");
    logger->set_level(level);
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogCapture() {
    spdlog::set_default_logger(before_);
    // Threads that logged may have been joined inside a library, where the
    // thread sanitizer does not see it: taking their mutex tells it that they
    // are done.
    static_cast<void>(text());
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// All lines so far, as "level text\n".
  std::string text() const { return sink_->text(); }

 private:
  class Sink final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::string text() {
      const std::lock_guard<std::mutex> lock(text_mutex_);
      return text_;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      spdlog::memory_buf_t buffer;
      formatter_->format(message, buffer);
      const std::lock_guard<std::mutex> lock(text_mutex_);
      text_.append(buffer.data(), buffer.size());
    }
    void flush_() override {}

    // The base class has a mutex that is locked inside the library, where the
    // thread sanitizer does not see it.
    std::mutex text_mutex_;
    std::string text_;
  };

  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_LOG_CAPTURE_H_
