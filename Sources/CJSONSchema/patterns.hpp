// patterns.hpp - Regular expressions.
#ifndef CJSONSCHEMA_PATTERNS_HPP
#define CJSONSCHEMA_PATTERNS_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <re2/re2.h>

#include "errors.hpp"
#include "text.hpp"

namespace cjsonschema {

constexpr size_t longest_pattern = 4096;
constexpr size_t most_patterns = 100;

// The compiled patterns of a schema. RE2 needs time linear in text and pattern, and limited memory.
class Patterns {
  public:
    void add(const std::string &pattern) {
        if (pattern.size() > longest_pattern)
            throw BadSchema(
                "a pattern has more than " + std::to_string(longest_pattern) + " bytes");
        if (patterns_.count(pattern)) return;
        if (patterns_.size() == most_patterns)
            throw BadSchema("it has more than " + std::to_string(most_patterns) + " patterns");
        RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(int64_t{1} << 20);
        auto compiled = std::make_unique<RE2>(pattern, options);
        if (!compiled->ok())
            throw BadSchema("the pattern " + in_quotes(pattern) + " cannot be used: "
                            + compiled->error());
        patterns_.emplace(pattern, std::move(compiled));
    }

    // Returns the compiled form of a pattern that was added.
    const RE2 &operator[](const std::string &pattern) const { return *patterns_.at(pattern); }

  private:
    std::map<std::string, std::unique_ptr<RE2>> patterns_;
};

} // namespace cjsonschema

#endif
