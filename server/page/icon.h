#ifndef ADDONS_SERVER_PAGE_ICON_H_
#define ADDONS_SERVER_PAGE_ICON_H_

#include <string>

namespace addons {

/// The picture that a browser shows beside the page's title, as an ICO file of
/// some 200 bytes. Does not block; for any thread.
std::string PageIcon();

}  // namespace addons

#endif  // ADDONS_SERVER_PAGE_ICON_H_
