// checker.hpp - Checks a value with a schema.
#ifndef CJSONSCHEMA_CHECKER_HPP
#define CJSONSCHEMA_CHECKER_HPP

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "patterns.hpp"
#include "survey.hpp"
#include "text.hpp"
#include "valijson.hpp"

namespace cjsonschema {

// The maximum recursion depth of a check.
constexpr size_t deepest_check = 400;
// The maximum number of steps of a check: a step applies one schema to one value or element.
constexpr uint64_t most_steps = 1000000;
// Matching costs one step per this many bytes of text times instructions of the pattern.
constexpr uint64_t matching_per_step = 1000;
constexpr size_t most_violations = 100;
constexpr size_t longest_path = 1024;

struct Violation {
    std::string path, fact, key;
    std::vector<std::string> names;
};

// Applies the constraints of a schema to a value, and describes the violations.
class Checker : public valijson::constraints::ConstraintVisitor {
  public:
    explicit Checker(const Survey &survey) : survey_(survey), patterns_(survey.patterns()) {}

    std::vector<Violation> violations;

    bool check(const Subschema &schema, const json &value) {
        step();
        if (depth_ == deepest_check)
            throw BadSchema(
                "it applies itself to the same value without end, or lies too deep");
        if (schema.getAlwaysInvalid()) return report("is not allowed here");
        const json *const outer = value_;
        value_ = &value;
        ++depth_;
        Subschema::ApplyFunction apply = [this, &value](
                                             const valijson::constraints::Constraint &constraint) {
            value_ = &value;
            return constraint.accept(*this);
        };
        const bool is_valid = schema.apply(apply);
        --depth_;
        value_ = outer;
        return is_valid;
    }

    bool visit(const AllOfConstraint &constraint) override {
        const json &value = *value_;
        bool is_valid = true;
        constraint.applyToSubschemas([&](unsigned, const Subschema *schema) {
            is_valid = check(*schema, value) && is_valid;
            return true;
        });
        return is_valid;
    }

    bool visit(const AnyOfConstraint &constraint) override {
        size_t fits = 0;
        const auto reasons = alternatives(constraint, fits);
        return fits > 0 || report(none(reasons));
    }

    bool visit(const OneOfConstraint &constraint) override {
        size_t fits = 0;
        const auto reasons = alternatives(constraint, fits);
        if (fits == 1) return true;
        return report(
            fits == 0 ? none(reasons)
                      : "fits " + std::to_string(fits) + " alternatives, of which it may fit one");
    }

    bool visit(const NotConstraint &constraint) override {
        const Subschema *schema = constraint.getSubschema();
        const bool fits = !schema || tried(*schema, *value_).empty();
        return !fits || report("is what the schema excludes with 'not'");
    }

    bool visit(const ConditionalConstraint &constraint) override {
        const json &value = *value_;
        const bool is_so = tried(*constraint.getIfSubschema(), value).empty();
        const Subschema *schema =
            is_so ? constraint.getThenSubschema() : constraint.getElseSubschema();
        return !schema || check(*schema, value);
    }

    bool visit(const ConstConstraint &constraint) override {
        const auto *wanted = constraint.getValue();
        if (wanted->equalTo(Adapter(*value_), true)) return true;
        return report("expected " + choices([&](const Adapter &choice) {
                          return wanted->equalTo(choice, true);
                      }));
    }

    bool visit(const EnumConstraint &constraint) override {
        auto is_choice = [&](const Adapter &candidate) {
            bool is_equal = false;
            constraint.applyToValues([&](const valijson::adapters::FrozenValue &value) {
                is_equal = is_equal || value.equalTo(candidate, true);
                return !is_equal;
            });
            return is_equal;
        };
        const json &value = *value_;
        bool is_valid = false;
        constraint.applyToValues([&](const valijson::adapters::FrozenValue &choice) {
            step();
            is_valid = choice.equalTo(Adapter(value), true);
            return !is_valid;
        });
        return is_valid || report("expected " + choices(is_choice));
    }

    // The drafts do not require 'format' to be checked.
    bool visit(const FormatConstraint &) override { return true; }

    bool visit(const TypeConstraint &constraint) override {
        const json &value = *value_;
        bool is_valid = false;
        std::vector<std::string> names;
        constraint.applyToNamedTypes([&](TypeConstraint::JsonType type) {
            is_valid = is_valid || is_of(type, value);
            names.push_back(name(type));
            return true;
        });
        return is_valid
               || report("expected " + joined(names, " or ") + ", found " + kind(value));
    }

    bool visit(const MaximumConstraint &constraint) override {
        if (!value_->is_number()) return true;
        const double value = value_->get<double>(), limit = constraint.getMaximum();
        if (constraint.getExclusiveMaximum())
            return value < limit || report("expected a number below " + number(limit));
        return value <= limit || report("expected a number up to " + number(limit));
    }

    bool visit(const MinimumConstraint &constraint) override {
        if (!value_->is_number()) return true;
        const double value = value_->get<double>(), limit = constraint.getMinimum();
        if (constraint.getExclusiveMinimum())
            return value > limit || report("expected a number above " + number(limit));
        return value >= limit || report("expected a number from " + number(limit));
    }

    bool visit(const MultipleOfDoubleConstraint &constraint) override {
        if (!value_->is_number()) return true;
        const double divisor = constraint.getDivisor();
        const double quotient = value_->get<double>() / divisor;
        const double distance = std::fabs(quotient - std::round(quotient));
        const bool is_multiple =
            std::isfinite(quotient) && distance <= 1e-9 * std::fmax(1, std::fabs(quotient));
        return is_multiple || report("expected a multiple of " + number(divisor));
    }

    bool visit(const MultipleOfIntConstraint &constraint) override {
        if (!value_->is_number()) return true;
        const int64_t divisor = constraint.getDivisor();
        const bool is_multiple =
            value_->is_number_unsigned() ? value_->get<uint64_t>() % uint64_t(divisor) == 0
            : value_->is_number_integer()
                ? value_->get<int64_t>() % divisor == 0
                : std::fmod(value_->get<double>(), double(divisor)) == 0;
        return is_multiple || report("expected a multiple of " + number(divisor));
    }

    bool visit(const MaxLengthConstraint &constraint) override {
        return !value_->is_string()
               || at_most(length(), constraint.getMaxLength(), "character", "characters");
    }

    bool visit(const MinLengthConstraint &constraint) override {
        return !value_->is_string()
               || at_least(length(), constraint.getMinLength(), "character", "characters");
    }

    bool visit(const MaxItemsConstraint &constraint) override {
        return !value_->is_array()
               || at_most(value_->size(), constraint.getMaxItems(), "element", "elements");
    }

    bool visit(const MinItemsConstraint &constraint) override {
        return !value_->is_array()
               || at_least(value_->size(), constraint.getMinItems(), "element", "elements");
    }

    bool visit(const MaxPropertiesConstraint &constraint) override {
        return !value_->is_object()
               || at_most(value_->size(), constraint.getMaxProperties(), "key", "keys");
    }

    bool visit(const MinPropertiesConstraint &constraint) override {
        return !value_->is_object()
               || at_least(value_->size(), constraint.getMinProperties(), "key", "keys");
    }

    bool visit(const PatternConstraint &constraint) override {
        if (!value_->is_string()) return true;
        const std::string pattern(constraint.getPattern<std::string::allocator_type>());
        const auto &text = value_->get_ref<const std::string &>();
        return matches(text, pattern)
               || report("does not match the pattern " + in_quotes(pattern));
    }

    bool visit(const PropertiesConstraint &constraint) override {
        if (!value_->is_object()) return true;
        const json &object = *value_;
        bool is_valid = true;
        std::set<std::string> known;
        std::vector<std::string> missing;
        constraint.applyToProperties([&](const auto &name, const Subschema *schema) {
            const std::string key(name.c_str(), name.size());
            const auto found = object.find(key);
            if (found == object.end()) {
                if (key.size() <= longest_name && missing.size() < most_searched)
                    missing.push_back(key);
            } else {
                known.insert(key);
                is_valid = check(*schema, *found, key) && is_valid;
            }
            return true;
        });
        constraint.applyToPatternProperties([&](const auto &text, const Subschema *schema) {
            const std::string pattern(text.c_str(), text.size());
            for (const auto &member : object.items()) {
                if (!matches(member.key(), pattern)) continue;
                known.insert(member.key());
                is_valid = check(*schema, member.value(), member.key()) && is_valid;
            }
            return true;
        });
        const Subschema *others = constraint.getAdditionalPropertiesSubschema();
        for (const auto &member : object.items()) {
            if (known.count(member.key())) continue;
            if (others) {
                is_valid = check(*others, member.value(), member.key()) && is_valid;
            } else {
                const bool is_short = member.key().size() <= longest_name;
                add({path_, "", member.key().substr(0, longest_path),
                     is_short ? missing : std::vector<std::string>()});
                is_valid = false;
            }
        }
        return is_valid;
    }

    bool visit(const PropertyNamesConstraint &constraint) override {
        if (!value_->is_object()) return true;
        const json &object = *value_;
        bool is_valid = true;
        for (const auto &member : object.items()) {
            const json name = member.key();
            const auto reasons = tried(*constraint.getSubschema(), name);
            if (reasons.empty()) continue;
            is_valid =
                report("the key " + in_quotes(member.key()) + " is no name: " + reasons[0].fact);
        }
        return is_valid;
    }

    bool visit(const RequiredConstraint &constraint) override {
        if (!value_->is_object()) return true;
        const json &object = *value_;
        bool is_valid = true;
        constraint.applyToRequiredProperties([&](const auto &name) {
            const std::string key(name.c_str(), name.size());
            if (!object.contains(key)) is_valid = report("the key " + in_quotes(key) + " is missing");
            return true;
        });
        return is_valid;
    }

    bool visit(const DependenciesConstraint &constraint) override {
        if (!value_->is_object()) return true;
        const json &object = *value_;
        bool is_valid = true;
        constraint.applyToPropertyDependencies([&](const auto &name, const auto &needs) {
            const std::string key(name.c_str(), name.size());
            if (!object.contains(key)) return true;
            for (const auto &need : needs) {
                const std::string other(need.c_str(), need.size());
                if (!object.contains(other))
                    is_valid = report("the key " + in_quotes(other) + " is missing, which "
                                      + in_quotes(key) + " needs");
            }
            return true;
        });
        constraint.applyToSchemaDependencies([&](const auto &name, const Subschema *schema) {
            const std::string key(name.c_str(), name.size());
            if (object.contains(key)) is_valid = check(*schema, object) && is_valid;
            return true;
        });
        return is_valid;
    }

    bool visit(const SingularItemsConstraint &constraint) override {
        const Subschema *schema = constraint.getItemsSubschema();
        return !value_->is_array() || !schema || check_items(*value_, 0, *schema);
    }

    bool visit(const LinearItemsConstraint &constraint) override {
        if (!value_->is_array()) return true;
        const json &array = *value_;
        bool is_valid = true;
        constraint.applyToItemSubschemas([&](unsigned index, const Subschema *schema) {
            if (index >= array.size()) return false;
            is_valid = check(*schema, array[index], std::to_string(index)) && is_valid;
            return true;
        });
        const size_t count = constraint.getItemSubschemaCount();
        if (array.size() <= count) return is_valid;
        const Subschema *others = constraint.getAdditionalItemsSubschema();
        if (!others) return at_most(array.size(), count, "element", "elements");
        return check_items(array, count, *others) && is_valid;
    }

    bool visit(const ContainsConstraint &constraint) override {
        if (!value_->is_array()) return true;
        const json &array = *value_;
        for (const json &element : array)
            if (tried(*constraint.getSubschema(), element).empty()) return true;
        return report("holds no element that fits 'contains'");
    }

    bool visit(const UniqueItemsConstraint &) override {
        if (!value_->is_array()) return true;
        auto is_less = [](const json *a, const json *b) { return *a < *b; };
        std::set<const json *, decltype(is_less)> seen(is_less);
        for (size_t index = 0; index < value_->size(); ++index)
            if (!seen.insert(&(*value_)[index]).second)
                return report("element " + std::to_string(index) + " is there twice");
        return true;
    }

    // Constraints that an application defines; there are none.
    bool visit(const PolyConstraint &) override { return true; }

  private:
    const Survey &survey_;
    const Patterns &patterns_;
    const json *value_ = nullptr;
    std::string path_;
    size_t depth_ = 0;
    uint64_t steps_ = 0;

    void step(uint64_t count = 1) {
        if ((steps_ += count) > most_steps)
            throw BadSchema("checking the value with it takes more than "
                            + std::to_string(most_steps) + " steps");
    }

    bool matches(const std::string &text, const std::string &pattern) {
        const RE2 &expression = patterns_[pattern];
        // If its DFA exceeds the memory limit, RE2 runs the whole program for each byte.
        step(1 + text.size() * uint64_t(expression.ProgramSize()) / matching_per_step);
        return RE2::PartialMatch(text, expression);
    }

    bool check(const Subschema &schema, const json &value, const std::string &key) {
        const size_t length = path_.size();
        path_ += '/';
        for (char character : key) {
            if (character == '~') path_ += "~0";
            else if (character == '/') path_ += "~1";
            else path_ += character;
        }
        const bool is_valid = check(schema, value);
        path_.resize(length);
        return is_valid;
    }

    bool check_items(const json &array, size_t start, const Subschema &schema) {
        bool is_valid = true;
        for (size_t index = start; index < array.size(); ++index)
            is_valid = check(schema, array[index], std::to_string(index)) && is_valid;
        return is_valid;
    }

    // Returns the violations of a schema that the value need not match.
    std::vector<Violation> tried(const Subschema &schema, const json &value) {
        std::vector<Violation> outer;
        outer.swap(violations);
        check(schema, value);
        outer.swap(violations);
        return outer;
    }

    template <typename Constraint>
    std::vector<Violation> alternatives(const Constraint &constraint, size_t &fits) {
        const json &value = *value_;
        std::vector<Violation> reasons;
        constraint.applyToSubschemas([&](unsigned, const Subschema *schema) {
            auto broken = tried(*schema, value);
            if (broken.empty()) ++fits;
            else reasons.push_back(std::move(broken.front()));
            return true;
        });
        return reasons;
    }

    std::string none(const std::vector<Violation> &reasons) const {
        std::string text = "fits no alternative";
        for (size_t index = 0; index < reasons.size() && index < 4; ++index) {
            const auto &reason = reasons[index];
            text += index == 0 ? ": " : "; or ";
            if (reason.path.size() > path_.size()) text += reason.path + ": ";
            text += reason.key.empty() ? reason.fact : "unknown key " + in_quotes(reason.key);
        }
        return text;
    }

    std::string choices(const std::function<bool(const Adapter &)> &is_choice) const {
        auto texts = survey_.choices(is_choice);
        const size_t count = texts.size();
        if (count == 0) return "another value";
        if (count > 10) texts.resize(10);
        for (auto &text : texts)
            if (text.size() > 64) text = "a value of " + counted(text.size(), "byte", "bytes");
        return joined(texts, count > texts.size() ? ", " : " or ")
               + (count > texts.size() ? " or another of " + std::to_string(count) : "");
    }

    bool report(std::string fact) {
        add({path_, std::move(fact), "", {}});
        return false;
    }

    void add(Violation violation) {
        if (violations.size() == most_violations) return;
        if (violation.path.size() > longest_path) violation.path.resize(longest_path);
        violations.push_back(std::move(violation));
    }

    size_t length() const { return characters(value_->get_ref<const std::string &>()); }

    bool at_most(size_t count, uint64_t limit, const char *thing, const char *things) {
        return count <= limit || report("has more than " + counted(limit, thing, things));
    }

    bool at_least(size_t count, uint64_t limit, const char *thing, const char *things) {
        return count >= limit || report("has fewer than " + counted(limit, thing, things));
    }

    static bool is_of(TypeConstraint::JsonType type, const json &value) {
        switch (type) {
        case TypeConstraint::kArray: return value.is_array();
        case TypeConstraint::kBoolean: return value.is_boolean();
        case TypeConstraint::kInteger:
            return value.is_number_integer()
                   || (value.is_number_float()
                       && std::trunc(value.get<double>()) == value.get<double>());
        case TypeConstraint::kNull: return value.is_null();
        case TypeConstraint::kNumber: return value.is_number();
        case TypeConstraint::kObject: return value.is_object();
        case TypeConstraint::kString: return value.is_string();
        case TypeConstraint::kAny: break; // Refused in schemas.
        }
        return false;
    }

    static const char *name(TypeConstraint::JsonType type) {
        switch (type) {
        case TypeConstraint::kArray: return "an array";
        case TypeConstraint::kBoolean: return "true or false";
        case TypeConstraint::kInteger: return "a whole number";
        case TypeConstraint::kNull: return "null";
        case TypeConstraint::kNumber: return "a number";
        case TypeConstraint::kObject: return "an object";
        case TypeConstraint::kString: return "a string";
        case TypeConstraint::kAny: break; // Refused in schemas.
        }
        return "";
    }

    static const char *kind(const json &value) {
        if (value.is_object()) return "an object";
        if (value.is_array()) return "an array";
        if (value.is_string()) return "a string";
        if (value.is_boolean()) return "true or false";
        if (value.is_null()) return "null";
        return is_of(TypeConstraint::kInteger, value) ? "a whole number"
                                                      : "a number with a fraction";
    }
};

} // namespace cjsonschema

#endif
