#include "base/crash_report.h"

#include <execinfo.h>
#include <link.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "absl/debugging/symbolize.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

constexpr int kMostFrames = 64;
constexpr int kMostLooks = 100;  // for room in a pipe, each of 10 ms
constexpr int kLookMilliseconds = 10;

/// A part of a file that is mapped here: the program or a library.
struct Module {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uintptr_t bias = 0;  // of an address here to the one in the file
  std::array<char, 64> name{};
};

/// Those of PrepareCrashReport(): dl_iterate_phdr() takes a lock.
struct Modules {
  std::array<Module, 512> all{};
  size_t count = 0;
};
Modules modules;

absl::string_view FileName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

int AddModule(dl_phdr_info* info, size_t /*size*/, void* /*data*/) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    if (modules.count == modules.all.size()) return 1;
    Module& module = modules.all.at(modules.count++);
    module.bias = info->dlpi_addr;
    module.begin = info->dlpi_addr + part.p_vaddr;
    module.end = module.begin + part.p_memsz;
    // The program itself has no name there.
    const absl::string_view name = FileName(info->dlpi_name);
    const absl::string_view shown = name.empty() ? "rbd-addonsd" : name;
    shown.copy(module.name.data(), module.name.size() - 1);
  }
  return 0;
}

const Module* ModuleOf(uintptr_t address) {
  for (size_t i = 0; i < modules.count; ++i) {
    const Module& module = modules.all.at(i);
    if (address >= module.begin && address < module.end) return &module;
  }
  return nullptr;
}

/// A line of the log that is made without memory. What does not fit is left
/// out.
class Line {
 public:
  explicit Line(LogFormat format) : json_(format == LogFormat::kJson) {
    Raw(json_ ? R"({"time":")" : "");
    Time();
    Raw(json_ ? R"(","level":"critical","message":")" : " critical ");
  }

  void Message(absl::string_view text) {
    Clean(text);
    Raw(json_ ? R"(","fields":{)" : "");
  }
  /// What follows, up to the next one, is the value.
  void Field(absl::string_view name) {
    if (field_) Raw("\"");
    if (json_) {
      Raw(field_ ? ",\"" : "\"");
      Raw(name);
      Raw("\":\"");
    } else {
      Raw(" ");
      Raw(name);
      Raw("=\"");
    }
    field_ = true;
  }
  /// Letters, digits and what else can be printed and needs no escape.
  void Clean(absl::string_view text) {
    for (const char c : text) {
      const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
      Put(plain ? c : '_');
    }
  }
  void Decimal(int64_t value, size_t at_least = 1) {
    if (value < 0) Put('-');
    Digits(value < 0 ? 0 - static_cast<uint64_t>(value)
                     : static_cast<uint64_t>(value),
           10, at_least);
  }
  void Hex(uintptr_t value) {
    Raw("0x");
    Digits(value, 16, 1);
  }

  void Write(int fd) {
    // Room is kept for the end.
    limit_ = text_.size();
    if (field_) Raw("\"");
    Raw(json_ ? "}}\n" : "\n");
    absl::string_view left(text_.data(), size_);
    for (int look = 0; look < kMostLooks && !left.empty();) {
      pollfd event{fd, POLLOUT, 0};
      if (poll(&event, 1, kLookMilliseconds) <= 0) {
        ++look;
        continue;
      }
      const ssize_t written = write(fd, left.data(), left.size());
      if (written > 0) {
        left.remove_prefix(static_cast<size_t>(written));
      } else if (errno == EAGAIN || errno == EINTR) {
        ++look;
      } else {
        return;
      }
    }
  }

 private:
  void Put(char c) {
    if (size_ < limit_) text_.at(size_++) = c;
  }
  void Raw(absl::string_view text) {
    for (const char c : text) Put(c);
  }
  void Digits(uint64_t value, uint64_t base, size_t at_least) {
    std::array<char, 24> digits{};
    size_t count = 0;
    for (; value > 0 || count < at_least; value /= base) {
      digits.at(count++) = "0123456789abcdef"[value % base];
    }
    while (count > 0) Put(digits.at(--count));
  }
  /// Now in UTC, as other lines of the log have it in local time. gmtime_r()
  /// may take a lock.
  void Time() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    constexpr int64_t kDay = 86400;
    const int64_t days = now.tv_sec / kDay;
    const int64_t seconds = now.tv_sec % kDay;
    // Of the Gregorian calendar; years begin in March, eras in March of 0000.
    constexpr int64_t kEra = 146097;
    const int64_t shifted = days + 719468;
    const int64_t era = shifted / kEra;
    const int64_t of_era = shifted % kEra;
    const int64_t year_of_era =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year =
        of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t march_month = (5 * of_year + 2) / 153;
    const int64_t day = of_year - (153 * march_month + 2) / 5 + 1;
    const int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    Decimal(year, 4);
    Put('-');
    Decimal(month, 2);
    Put('-');
    Decimal(day, 2);
    Put('T');
    Decimal(seconds / 3600, 2);
    Put(':');
    Decimal(seconds / 60 % 60, 2);
    Put(':');
    Decimal(seconds % 60, 2);
    Put('.');
    Decimal(now.tv_nsec / 1'000'000, 3);
    Raw("+00:00");
  }

  static constexpr size_t kEnd = 8;

  const bool json_;
  bool field_ = false;
  std::array<char, 1024> text_{};
  size_t size_ = 0;
  size_t limit_ = text_.size() - kEnd;
};

absl::string_view SignalName(int signal) {
  switch (signal) {
    case SIGABRT:
      return "SIGABRT";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "another one";
  }
}

/// Where the thread was when the signal came; 0: not known for this processor.
uintptr_t CounterOf(const void* context) {
  if (context == nullptr) return 0;
  const mcontext_t& machine =
      static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(machine.pc);
#else
  static_cast<void>(machine);
  return 0;
#endif
}

void WriteSignal(const CrashReport& report, LogFormat format, int fd) {
  std::array<char, 17> thread{};  // of at most 16 with its end
  prctl(PR_GET_NAME, thread.data());
  Line line(format);
  line.Message("the process dies of a signal");
  line.Field("signal");
  line.Clean(SignalName(report.signal));
  line.Field("thread");
  line.Clean(thread.data());
  if (report.info != nullptr && report.info->si_code <= 0) {
    line.Field("sent_by");  // kill(), abort()
    line.Decimal(report.info->si_pid);
  } else if (report.info != nullptr) {
    line.Field("address");
    line.Hex(reinterpret_cast<uintptr_t>(report.info->si_addr));
  }
  line.Write(fd);
}

/// `address` is one of an instruction, or where a call returns to: then the
/// call itself is before it.
void WriteFrame(int number, uintptr_t address, bool returns, LogFormat format,
                int fd) {
  const uintptr_t call = returns ? address - 1 : address;
  Line line(format);
  line.Message("back trace");
  line.Field("frame");
  line.Decimal(number);
  line.Field("at");
  if (const Module* const module = ModuleOf(call); module != nullptr) {
    line.Clean(module->name.data());
    line.Clean("+");
    line.Hex(call - module->bias);
  } else {
    line.Hex(call);
  }
  std::array<char, 512> name{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is all there is
  if (absl::Symbolize(reinterpret_cast<const void*>(call), name.data(),
                      name.size())) {
    line.Field("function");
    line.Clean(name.data());
  }
  line.Write(fd);
}

}  // namespace

void PrepareCrashReport() {
  absl::InitializeSymbolizer("");
  // The first call loads the unwinder.
  std::array<void*, 2> frames{};
  backtrace(frames.data(), frames.size());
  modules.count = 0;
  dl_iterate_phdr(AddModule, nullptr);
}

void WriteCrashReport(const CrashReport& report, LogFormat format, int fd) {
  WriteSignal(report, format, fd);
  std::array<void*, kMostFrames> frames{};
  const int count = backtrace(frames.data(), kMostFrames);
  const uintptr_t counter = CounterOf(report.context);
  int first = 0;  // the handler's own frames come before
  for (int i = 0; i < count && counter != 0; ++i) {
    if (reinterpret_cast<uintptr_t>(frames.at(static_cast<size_t>(i))) ==
        counter) {
      first = i;
      break;
    }
  }
  for (int i = first; i < count; ++i) {
    const bool returns = i > first || first == 0;
    WriteFrame(i - first,
               reinterpret_cast<uintptr_t>(frames.at(static_cast<size_t>(i))),
               returns, format, fd);
  }
}

}  // namespace addons
