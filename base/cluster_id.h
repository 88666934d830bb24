#ifndef ADDONS_BASE_CLUSTER_ID_H_
#define ADDONS_BASE_CLUSTER_ID_H_

#include <compare>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

namespace addons {

/// What config.json, volume ids and the classes of Kubernetes call a cluster
/// ("clusterID"). It may contain anything, also '/' and ':'. Two ids may mean
/// one cluster; which one it really is, its fsid tells. An ordinary value.
class ClusterId {
 public:
  /// No cluster.
  ClusterId() = default;
  explicit ClusterId(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

  friend bool operator==(const ClusterId&, const ClusterId&) = default;
  friend auto operator<=>(const ClusterId&, const ClusterId&) = default;
  friend std::ostream& operator<<(std::ostream& out, const ClusterId& id) {
    return out << id.text_;
  }

 private:
  std::string text_;
};

/// For absl::StrJoin().
inline void AppendClusterId(std::string* text, const ClusterId& id) {
  text->append(id.text());
}

}  // namespace addons

template <>
struct std::hash<addons::ClusterId> {
  size_t operator()(const addons::ClusterId& id) const noexcept {
    return std::hash<std::string>()(id.text());
  }
};

#endif  // ADDONS_BASE_CLUSTER_ID_H_
