// Runs a fuzz target without a fuzzer: on each file of its corpus, and on so
// many changed ones. An input that ends the process stands in the file
// <target>.failed of the current folder.
//
//   <target>_replay CORPUS MUTATIONS
//   <target>_replay FILE
//
// RBD_ADDONS_FUZZ_SEED repeats a run, RBD_ADDONS_FUZZ_MUTATIONS sets another
// number.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

// Not every target has one.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                                                size_t size,
                                                                size_t max_size,
                                                                unsigned seed);

namespace addons::testing {
namespace {

constexpr size_t kMaxSize = 4096;

std::mt19937_64& Random() {
  static auto* const random = new std::mt19937_64;
  return *random;
}

size_t Below(size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(Random());
}

/// Bytes at which parsers tend to decide something.
char InterestingByte() {
  static constexpr char kText[] =
      "\0\1\t\n\r \"'#%&*+,-./0123456789:;=?@[\\]_{|}~\x7f\x80\xbf\xc0\xed\xff"
      "aAefnrtuxzZ";
  // With the zero that it begins with, and without the one at its end.
  static constexpr absl::string_view kBytes(kText, sizeof(kText) - 1);
  return kBytes[Below(kBytes.size())];
}

std::vector<std::string>& Corpus() {
  static auto* const corpus = new std::vector<std::string>;
  return *corpus;
}

/// One change that a fuzzer would make.
void ChangeOnce(std::string* input) {
  const size_t at = Below(input->size() + 1);
  const size_t length = input->empty() ? 0 : 1 + Below(input->size());
  switch (Below(7)) {
    case 0:
      input->insert(at, 1, InterestingByte());
      break;
    case 1:
      input->erase(at, 1 + Below(4));
      break;
    case 2:
      input->erase(at, length);
      break;
    case 3:
      if (at < input->size()) (*input)[at] = InterestingByte();
      break;
    case 4:
      if (at < input->size()) {
        (*input)[at] = static_cast<char>((*input)[at] ^ (1 << Below(8)));
      }
      break;
    case 5:  // the same again
      input->insert(at, input->substr(Below(input->size() + 1), length));
      break;
    default: {
      const std::string& other = Corpus()[Below(Corpus().size())];
      input->replace(at, length, other, Below(other.size() + 1),
                     1 + Below(other.size() + 1));
      break;
    }
  }
}

std::string Mutated(std::string input) {
  std::vector<uint8_t> buffer(kMaxSize);
  const size_t size = std::min(input.size(), kMaxSize);
  std::copy_n(input.begin(), size, buffer.begin());
  const size_t changed =
      LLVMFuzzerCustomMutator != nullptr
          ? LLVMFuzzerCustomMutator(buffer.data(), size, kMaxSize,
                                    static_cast<unsigned>(Random()()))
          : LLVMFuzzerMutate(buffer.data(), size, kMaxSize);
  return std::string(TextOf(buffer.data(), changed));
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// For the handler of signals: what runs, and where to write it to.
const std::string* running = nullptr;
const char* failed_path = nullptr;

extern "C" void WriteFailed(int signal) {
  const int fd =
      open(failed_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd >= 0 && running != nullptr) {
    static_cast<void>(!write(fd, running->data(), running->size()));
    close(fd);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// An allocation of its own, so that a sanitizer sees where the input ends.
void Run(const std::string& input) {
  running = &input;
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  running = nullptr;
}

unsigned long NumberFrom(const char* variable, unsigned long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

int Replay(const std::string& program, const std::filesystem::path& corpus,
           size_t mutations) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(corpus)) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else if (std::filesystem::exists(corpus)) {
    files = {corpus};
    mutations = 0;
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: nothing to run\n", corpus.c_str());
    return 2;
  }
  const std::string failed =
      std::filesystem::path(program).filename().string() + ".failed";
  failed_path = failed.c_str();
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal, WriteFailed);
  }
  for (const std::filesystem::path& path : files) {
    std::printf("%s\n", path.filename().c_str());
    std::fflush(stdout);
    Corpus().push_back(Read(path));
    Run(Corpus().back());
  }
  const unsigned long seed =
      NumberFrom("RBD_ADDONS_FUZZ_SEED", std::random_device()());
  Random().seed(seed);
  std::printf("RBD_ADDONS_FUZZ_SEED=%lu\n", seed);
  std::fflush(stdout);
  for (size_t i = 0; i < mutations; ++i) {
    const std::string input = Mutated(Corpus()[Below(Corpus().size())]);
    Run(input);
  }
  failed_path = "/dev/null";
  std::printf("%zu files, %zu changed inputs\n", files.size(), mutations);
  return 0;
}

}  // namespace
}  // namespace addons::testing

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size,
                                   size_t max_size) {
  using addons::testing::Below;
  std::string input(addons::testing::TextOf(data, size));
  for (size_t times = 1 + Below(4); times > 0; --times) {
    addons::testing::ChangeOnce(&input);
  }
  input.resize(std::min(input.size(), max_size));
  std::copy(input.begin(), input.end(), data);
  return input.size();
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "%s CORPUS MUTATIONS | FILE\n", argv[0]);
    return 2;
  }
  const unsigned long mutations =
      argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  return addons::testing::Replay(
      argv[0], argv[1],
      addons::testing::NumberFrom("RBD_ADDONS_FUZZ_MUTATIONS", mutations));
}
