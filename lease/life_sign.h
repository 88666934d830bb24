#ifndef ADDONS_LEASE_LIFE_SIGN_H_
#define ADDONS_LEASE_LIFE_SIGN_H_

#include <functional>
#include <string>

#include "base/unique_fd.h"

namespace addons {

/// What the kernel keeps for exactly as long as this process lives: an abstract
/// unix socket of this name, which says and hears nothing. Whoever shares the
/// network namespace can ask for it, also from another pid namespace, where a
/// pid tells nothing: the next container of a pod asks for that of the last
/// one. Made at the first call; empty: the system gave none.
const std::string& LifeSign();

/// One of this name, for as long as the descriptor is open. Not valid: the
/// system gave none.
UniqueFd ShowLifeSign(const std::string& name);

/// Whether no process of this network namespace has the life sign `name`.
using LifeSignProbe = std::function<bool(const std::string& name)>;
/// Asks the kernel. false also where that cannot be told.
bool LifeSignIsGone(const std::string& name);

}  // namespace addons

#endif  // ADDONS_LEASE_LIFE_SIGN_H_
