#ifndef ADDONS_TESTS_TESTING_HTML_FAULTS_H_
#define ADDONS_TESTS_TESTING_HTML_FAULTS_H_

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons::testing {

/// What is wrong with a page of HTML, as far as we write it: tags that do not
/// close in turn, elements where they may not stand, attributes without quotes
/// or twice, ids twice, links within the page that lead nowhere, and characters
/// that are not escaped. Empty: nothing.
class HtmlFaults {
 public:
  static std::vector<std::string> Of(absl::string_view page) {
    HtmlFaults faults(page);
    faults.Read();
    return faults.faults_;
  }

 private:
  explicit HtmlFaults(absl::string_view page) : rest_(page) {}

  void Add(absl::string_view fault) {
    faults_.push_back(
        absl::StrCat(fault, " before '", rest_.substr(0, 60), "'"));
  }
  void Read() {
    constexpr absl::string_view kType = "<!DOCTYPE html>";
    if (!absl::StartsWith(rest_, kType)) Add("no DOCTYPE");
    rest_.remove_prefix(std::min(rest_.size(), kType.size()));
    while (!rest_.empty() && faults_.size() < 20) {
      const size_t tag = rest_.find('<');
      ReadText(rest_.substr(0, tag));
      if (tag == absl::string_view::npos) break;
      rest_.remove_prefix(tag + 1);
      ReadTag();
    }
    for (const std::string& name : open_)
      Add(absl::StrCat(name, " stays open"));
    for (const std::string& id : wanted_) {
      if (!ids_.contains(id)) Add(absl::StrCat("#", id, " is nowhere"));
    }
  }
  void ReadText(absl::string_view text) {
    if (!open_.empty() && open_.back() == "style") return;
    if (absl::StrContains(text, '>')) Add("'>' in a text");
    CheckReferences(text);
    static const std::set<std::string> kNoText = {
        "html", "head", "table", "tr", "thead", "tbody", "ul", "select"};
    const bool blank = text.find_first_not_of(" \n") == absl::string_view::npos;
    if (!blank && !open_.empty() && kNoText.contains(open_.back())) {
      Add(absl::StrCat("text in ", open_.back()));
    }
  }
  void CheckReferences(absl::string_view text) {
    for (size_t at = text.find('&'); at != absl::string_view::npos;
         at = text.find('&', at + 1)) {
      const absl::string_view from = text.substr(at);
      bool known = false;
      for (const char* name : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
        known |= absl::StartsWith(from, name);
      }
      if (!known) Add("'&' that is not escaped");
    }
  }
  void ReadTag() {
    const bool closes = absl::StartsWith(rest_, "/");
    if (closes) rest_.remove_prefix(1);
    const std::string name = Word();
    if (name.empty()) Add("'<' in a text");
    std::set<std::string> attributes;
    while (!rest_.empty() && rest_[0] != '>') ReadAttribute(name, &attributes);
    if (rest_.empty()) return Add("a tag that does not end");
    rest_.remove_prefix(1);
    static const std::set<std::string> kVoid = {"meta", "br", "input"};
    if (closes) {
      if (open_.empty() || open_.back() != name) {
        Add(absl::StrCat("</", name, "> within ",
                         open_.empty() ? "nothing" : open_.back()));
      } else {
        open_.pop_back();
      }
      return;
    }
    CheckPlace(name);
    if (!kVoid.contains(name)) open_.push_back(name);
  }
  void CheckPlace(const std::string& name) {
    static const std::map<std::string, std::set<std::string>> kParents = {
        {"head", {"html"}},   {"body", {"html"}},   {"li", {"ul"}},
        {"thead", {"table"}}, {"tbody", {"table"}}, {"tr", {"thead", "tbody"}},
        {"td", {"tr"}},       {"th", {"tr"}},       {"option", {"select"}}};
    const auto wanted = kParents.find(name);
    const std::string parent = open_.empty() ? "" : open_.back();
    if (wanted != kParents.end() && !wanted->second.contains(parent)) {
      Add(absl::StrCat(name, " within ", parent));
    }
    static const std::set<std::string> kBlocks = {
        "p", "div", "table", "ul", "h1", "h2", "form", "nav", "pre"};
    static const std::set<std::string> kNoBlocks = {
        "p", "a", "b", "i", "span", "h1", "h2", "label", "code"};
    for (const std::string& outer : open_) {
      if (kBlocks.contains(name) && kNoBlocks.contains(outer)) {
        Add(absl::StrCat(name, " within ", outer));
      }
      if (name == "a" && outer == "a") Add("a link within a link");
    }
  }
  void ReadAttribute(const std::string& tag, std::set<std::string>* seen) {
    while (!rest_.empty() &&
           std::isspace(static_cast<unsigned char>(rest_[0]))) {
      rest_.remove_prefix(1);
    }
    if (rest_.empty() || rest_[0] == '>') return;
    const std::string name = Word();
    if (name.empty()) {
      Add("no attribute");
      rest_.remove_prefix(1);
      return;
    }
    if (!seen->insert(name).second) Add(absl::StrCat(name, " twice"));
    if (!absl::StartsWith(rest_, "=")) {
      if (name != "selected") Add(absl::StrCat(name, " without a value"));
      return;
    }
    if (!absl::StartsWith(rest_, "=\"")) return Add("a value without quotes");
    rest_.remove_prefix(2);
    const size_t end = rest_.find('"');
    if (end == absl::string_view::npos) return Add("a value without end");
    const std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    CheckReferences(value);
    if (absl::StrContains(value, '<')) Add("'<' in a value");
    if (name == "id" && !ids_.insert(value).second) {
      Add(absl::StrCat("id ", value, " twice"));
    }
    const size_t hash = value.find('#');
    if ((name == "href" || name == "action") && hash != std::string::npos &&
        (hash == 0 || value[0] == '?')) {
      wanted_.insert(value.substr(hash + 1));
    }
    if (tag != "a" && name == "href") Add("href of what is no link");
  }
  std::string Word() {
    size_t end = 0;
    while (end < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[end])) ||
            rest_[end] == '-')) {
      ++end;
    }
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return word;
  }

  absl::string_view rest_;
  std::vector<std::string> open_;
  std::set<std::string> ids_;
  std::set<std::string> wanted_;
  std::vector<std::string> faults_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_HTML_FAULTS_H_
