// What the Ceph work of a call takes by itself: a loop around librbd and
// librados with one connection, without RPC, checks and looks. A server's times
// are compared with these, of the same run. scripts/bench.sh --floor drives it.

#include <rados/librados.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/ceph_work.h"
#include "bench/row.h"

namespace addons {
namespace {

using std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Options {
  std::string work;
  std::string conf;
  std::string user;
  std::string key_file;
  std::string pool;
  std::string objects_file;
  std::string name;
  int concurrency = 1;
  int times = 1;
  bool header = false;
  bool json = false;
};

struct Freed {
  void operator()(rados_t cluster) const { rados_shutdown(cluster); }
};
using Cluster = std::unique_ptr<std::remove_pointer_t<rados_t>, Freed>;

void Check(int result, const std::string& what) {
  if (result >= 0) return;
  throw std::runtime_error(absl::StrCat(what, ": ", strerror(-result)));
}

Cluster Connect(const Options& options) {
  rados_t raw = nullptr;
  Check(rados_create(&raw, options.user.c_str()), "rados_create");
  Cluster cluster(raw);
  Check(rados_conf_read_file(raw, options.conf.c_str()), options.conf);
  Check(rados_conf_set(raw, "keyfile", options.key_file.c_str()), "keyfile");
  Check(rados_connect(raw), "rados_connect");
  return cluster;
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) {
    throw std::runtime_error(absl::StrCat(path, " has no object"));
  }
  return lines;
}

double UsedCpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Row Run(const Options& options) {
  const CephWork& work = AllCephWork().at(options.work);
  std::vector<std::string> objects = ReadLines(options.objects_file);
  const Cluster cluster = Connect(options);
  rados_ioctx_t pool = nullptr;
  Check(rados_ioctx_create(cluster.get(), options.pool.c_str(), &pool),
        options.pool);
  if (options.work == kInfoFromLists) {
    for (std::string& object : objects) object = ImageIdOf(pool, object);
  }

  Row row;
  row.name = options.name;
  row.method = options.work;
  row.concurrency = options.concurrency;
  const size_t total = objects.size() * static_cast<size_t>(options.times);
  row.took_ms.resize(total);
  std::vector<int> results(total);
  std::atomic<size_t> next{0};
  row.before.cpu_s = UsedCpu();
  const auto begin = steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.concurrency; ++i) {
      threads.emplace_back([&] {
        for (size_t k = next++; k < total; k = next++) {
          const auto start = steady_clock::now();
          results[k] = work(cluster.get(), pool, objects[k % objects.size()]);
          row.took_ms[k] = Milliseconds(steady_clock::now() - start).count();
        }
      });
    }
  }
  row.wall_s =
      std::chrono::duration<double>(steady_clock::now() - begin).count();
  row.after.cpu_s = UsedCpu();
  row.after.threads = options.concurrency;
  for (const int result : results) {
    if (result < 0) ++row.errors[strerror(-result)];
  }
  rados_ioctx_destroy(pool);
  return row;
}

int Main(int argc, char** argv) {
  Options options;
  std::vector<std::string> names;
  for (const auto& [name, work] : AllCephWork()) names.push_back(name);
  CLI::App app(
      "Does the Ceph work of a CSI-Addons call many times with one connection, "
      "and prints how long each took.");
  app.add_option("work", options.work, "which")
      ->required()
      ->check(CLI::IsMember(names));
  app.add_option("--conf", options.conf, "ceph.conf")->required();
  app.add_option("--user", options.user, "Ceph user, without \"client.\"")
      ->required();
  app.add_option("--key-file", options.key_file, "file with the user's key")
      ->required();
  app.add_option("--pool", options.pool, "of the images")->required();
  app.add_option("--objects", options.objects_file,
                 "one per line: images, or ranges for fence and unfence")
      ->required();
  app.add_option("--concurrency", options.concurrency, "threads")
      ->check(CLI::Range(1, 1000));
  app.add_option("--times", options.times, "passes over the objects")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--name", options.name, "of the row; default: the work");
  app.add_flag("--header", options.header, "prints the columns' names first");
  app.add_flag("--json", options.json, "prints an object in place of a row");
  CLI11_PARSE(app, argc, argv);
  if (options.name.empty()) options.name = options.work;
  const Row row = Run(options);
  Print(row, options.json, options.header);
  return row.errors.empty() ? 0 : 1;
}

}  // namespace
}  // namespace addons

int main(int argc, char** argv) {
  try {
    return addons::Main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rbd-addons-floor: %s\n", e.what());
    return 2;
  }
}
