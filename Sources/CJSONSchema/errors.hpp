// errors.hpp - Why a schema or a value cannot be used.
#ifndef CJSONSCHEMA_ERRORS_HPP
#define CJSONSCHEMA_ERRORS_HPP

#include <stdexcept>

namespace cjsonschema {

struct BadSchema : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct BadValue : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A schema or a value that is nested too deeply, or holds a NUL.
struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace cjsonschema

#endif
