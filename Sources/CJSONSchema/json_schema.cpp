#include "json_schema.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <pthread.h>
#include <re2/re2.h>

#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/constraints/constraint_visitor.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>

// valijson's parser converts a schema to constraints. Its own validator is not used. It matches
// patterns with std::regex, whose recursion and backtracking are unbounded, recurses without end in
// schemas that contain themselves, divides by a 'multipleOf' of 0, and does not say what it
// expected.

namespace {

using json = nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;
using valijson::Subschema;

// The maximum number of objects in a schema, the maximum nesting of a JSON text, and the maximum
// recursion depth of a check.
constexpr size_t largest_schema = 2000;
constexpr int deepest_text = 128;
constexpr size_t deepest_check = 400;
// The maximum number of steps of a check: a step applies one schema to one value or element.
constexpr uint64_t most_steps = 1000000;
constexpr size_t most_violations = 100;
constexpr size_t longest_path = 1024;
constexpr size_t longest_pattern = 4096;
constexpr size_t most_patterns = 100;
// Matching costs one step per this many bytes of text times instructions of the pattern.
constexpr uint64_t matching_per_step = 1000;
constexpr size_t most_choices = 1000;
// An error lists the values that an 'enum' allows only if the schema names no more values than this
// in all; it also limits the keys that a violation suggests.
constexpr size_t most_searched = 200;
constexpr size_t longest_name = 64;
constexpr size_t longest_reference = 1024;
constexpr int most_hops = 64;
// valijson's parser recurses from schema to schema, also through references. This is enough for
// largest_schema levels without compiler optimization.
constexpr size_t stack_size = size_t{64} << 20;

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

struct Violation {
    std::string path, fact, key;
    std::vector<std::string> names;
};

std::string in_quotes(const std::string &text) {
    if (text.size() <= longest_name) return "'" + text + "'";
    size_t end = longest_name;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return "'" + text.substr(0, end) + "…'";
}

std::string number(int64_t value) { return std::to_string(value); }

std::string number(double value) {
    constexpr double most_exact = 9007199254740992;
    return std::trunc(value) == value && std::fabs(value) <= most_exact
               ? number(static_cast<int64_t>(value))
               : json(value).dump();
}

std::string counted(uint64_t count, const char *thing, const char *things) {
    return std::to_string(count) + " " + (count == 1 ? thing : things);
}

std::string joined(const std::vector<std::string> &words, const char *last) {
    std::string text;
    for (size_t index = 0; index < words.size(); ++index) {
        if (index > 0) text += index + 1 == words.size() ? last : ", ";
        text += words[index];
    }
    return text;
}

size_t characters(const std::string &text) {
    size_t count = 0;
    for (unsigned char byte : text) count += (byte & 0xC0) != 0x80;
    return count;
}

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

// Checks limits of a schema before valijson parses it, makes whole numbers of the limits in it, and
// keeps its patterns and allowed values.
class Survey {
  public:
    explicit Survey(json &schema) : root_(schema) {
        measure();
        // Not recursive. Visits the schemas that valijson's parser can reach: those below keywords,
        // and those that references lead to. A value, such as that of 'const', is none.
        std::vector<json *> rest{&schema};
        std::set<const json *> visited;
        while (!rest.empty()) {
            json &node = *rest.back();
            rest.pop_back();
            if (!node.is_object() || !visited.insert(&node).second) continue;
            look(node);
            if (node.contains("$ref"))
                if (json *next = follow(node)) rest.push_back(next);
            add_subschemas(node, rest);
        }
    }

    const Patterns &patterns() const { return patterns_; }

    // Returns values of 'enum' and 'const' as JSON. They are the schema's, so errors may show them.
    std::vector<std::string> choices(
        const std::function<bool(const Adapter &)> &is_choice) const {
        std::vector<std::string> texts;
        if (values_.size() > most_searched) return texts;
        for (const json *value : values_) {
            if (!is_choice(Adapter(*value))) continue;
            std::string text = value->dump();
            if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
        }
        return texts;
    }

  private:
    json &root_;
    Patterns patterns_;
    std::vector<const json *> values_;

    void measure() const {
        std::vector<const json *> rest{&root_};
        size_t objects = 0;
        while (!rest.empty()) {
            const json &node = *rest.back();
            rest.pop_back();
            if (node.is_object()) {
                if (++objects > largest_schema)
                    throw BadSchema(
                        "it holds more than " + std::to_string(largest_schema) + " objects");
                for (auto &entry : node.items()) refuse_nul(entry.key());
            }
            if (node.is_string()) refuse_nul(node.get_ref<const std::string &>());
            if (node.is_structured())
                for (const json &child : node) rest.push_back(&child);
        }
    }

    // valijson's parser cuts texts at a NUL.
    static void refuse_nul(const std::string &text) {
        if (text.find('\0') != std::string::npos) throw BadSchema("a text in it holds a NUL");
    }

    static void add_subschemas(json &node, std::vector<json *> &rest) {
        for (const char *name :
             {"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "else", "if",
              "items", "not", "oneOf", "propertyNames", "then"})
            if (auto found = node.find(name); found != node.end()) {
                rest.push_back(&*found);
                if (found->is_array())
                    for (json &child : *found) rest.push_back(&child);
            }
        for (const char *name : {"definitions", "dependencies", "patternProperties", "properties"})
            if (auto found = node.find(name); found != node.end() && found->is_object())
                for (json &child : *found) rest.push_back(&child);
    }

    void look(json &node) {
        auto member = [&](const char *name) -> json * {
            auto found = node.find(name);
            return found == node.end() ? nullptr : &*found;
        };
        for (const char *name : {"maxItems", "maxLength", "maxProperties", "minItems", "minLength",
                                 "minProperties"})
            if (auto limit = member(name)) make_whole(*limit);
        if (auto pattern = member("pattern"); pattern && pattern->is_string())
            patterns_.add(pattern->get_ref<const std::string &>());
        if (auto list = member("patternProperties"); list && list->is_object())
            for (auto &entry : list->items()) patterns_.add(entry.key());
        if (auto divisor = member("multipleOf");
            divisor && divisor->is_number() && !(divisor->get<double>() > 0))
            throw BadSchema("'multipleOf' is not above 0");
        if (auto list = member("enum"); list && list->is_array())
            for (const json &value : *list) values_.push_back(&value);
        if (auto value = member("const")) values_.push_back(value);
        if (values_.size() > most_choices)
            throw BadSchema("it names more than " + std::to_string(most_choices) + " values");
        if (auto type = member("type")) {
            // Of draft 3 only, but valijson's parser takes it for drafts 6 and 7 as well.
            const bool is_any = type->is_array()
                                    ? std::find(type->begin(), type->end(), "any") != type->end()
                                    : *type == "any";
            if (is_any) throw BadSchema("Unrecognised JSON type name 'any'");
        }
        if (auto id = member("id");
            id && id->is_string()
            && id->get_ref<const std::string &>().size() > longest_reference)
            throw BadSchema(
                "an 'id' has more than " + std::to_string(longest_reference) + " bytes");
    }

    // Makes a whole number of one such as 2.0, which valijson's parser refuses as a limit; one that
    // is too large becomes INT64_MAX, because a count is never larger.
    static void make_whole(json &limit) {
        if (!limit.is_number_float()) return;
        const double value = limit.get<double>();
        constexpr double end = 9223372036854775808.0;
        if (value >= end) limit = INT64_MAX;
        else if (value >= -end && std::trunc(value) == value) limit = static_cast<int64_t>(value);
    }

    // Returns what the reference in a schema leads to, over other references; null if that is no
    // reference. Throws for references to other documents, and for references that only lead to each
    // other.
    json *follow(json &node, int hops = 0) const {
        if (!node.is_object()) return nullptr;
        const auto reference = node.find("$ref");
        if (reference == node.end() || !reference->is_string()) return nullptr;
        const auto &text = reference->get_ref<const std::string &>();
        if (text.size() > longest_reference)
            throw BadSchema(
                "a '$ref' has more than " + std::to_string(longest_reference) + " bytes");
        if (text != "#" && text.compare(0, 2, "#/") != 0)
            throw BadSchema("the '$ref' " + in_quotes(text)
                            + " leads out of the schema: only '#' and '#/…' are followed");
        if (hops == most_hops)
            throw BadSchema("the '$ref' " + in_quotes(text) + " leads to itself");
        json &next = target(text.substr(1, text.find_last_not_of('/')));
        json *const end = follow(next, hops + 1);
        return end ? end : &next;
    }

    // Returns the node of a JSON pointer, as valijson's parser finds it; throws if there is none.
    json &target(const std::string &pointer) const {
        using namespace valijson::internal::json_pointer;
        resolveJsonPointer(Adapter(root_), pointer);
        json *node = &root_;
        for (auto start = pointer.begin(); start != pointer.end();) {
            const auto end = std::find(start + 1, pointer.end(), '/');
            const std::string token = extractReferenceToken(start + 1, end);
            if (!token.empty())
                node = node->is_array() ? &node->at(std::stoul(token)) : &node->at(token);
            start = end;
        }
        return *node;
    }
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

valijson::SchemaParser::Version version(const json &schema) {
    if (!schema.is_object()) return valijson::SchemaParser::kDraft7;
    const auto found = schema.find("$schema");
    if (found == schema.end()) return valijson::SchemaParser::kDraft7;
    const std::string name = found->is_string() ? found->get<std::string>() : "no text";
    for (const char *draft : {"draft-07", "draft-06"})
        if (name.find(draft) != std::string::npos) return valijson::SchemaParser::kDraft7;
    if (name.find("draft-04") != std::string::npos) return valijson::SchemaParser::kDraft4;
    throw BadSchema("its '$schema' is " + in_quotes(name) + "; drafts 4, 6 and 7 are understood");
}

json parsed(cjsonschema_text text) {
    // Copying and comparing values recurses, so the nesting is limited. Checking it in a callback
    // of the parser would take time quadratic in the members of an object.
    int depth = 0;
    bool is_string = false;
    for (const char *byte = text.bytes, *end = byte + text.count; byte < end; ++byte) {
        // The library takes a NUL for the end of the text.
        if (*byte == 0) throw Unreadable("it holds a NUL");
        if (*byte == '"') is_string = !is_string;
        else if (is_string) byte += *byte == '\\';
        else if (*byte == '{' || *byte == '[') ++depth;
        else if (*byte == '}' || *byte == ']') --depth;
        if (depth > deepest_text)
            throw Unreadable("it is nested deeper than " + std::to_string(deepest_text) + " levels");
    }
    return json::parse(text.bytes, text.bytes + text.count);
}

// Makes doubles of whole numbers above INT64_MAX, which valijson takes for negative ones, so that
// large numbers are compared as doubles. Not recursive.
void convert_large_numbers(json &text) {
    std::vector<json *> rest{&text};
    while (!rest.empty()) {
        json &node = *rest.back();
        rest.pop_back();
        if (node.is_number_unsigned() && node.get<uint64_t>() > INT64_MAX)
            node = node.get<double>();
        if (node.is_structured())
            for (json &child : node) rest.push_back(&child);
    }
}

// One call of cjsonschema_check; run() runs on a thread of its own.
struct Check {
    const cjsonschema_text schema;
    const cjsonschema_text *const value;
    cjsonschema_outcome outcome = CJSONSCHEMA_NO_RESOURCES;
    std::vector<Violation> violations;

    void run() {
        json schema_json;
        try {
            schema_json = parsed(schema);
        } catch (const Unreadable &fault) {
            throw BadSchema(fault.what());
        } catch (const json::exception &) {
            throw BadSchema("it is not JSON");
        }
        convert_large_numbers(schema_json);
        const auto draft = version(schema_json);
        const Survey survey(schema_json);
        valijson::Schema model;
        valijson::SchemaParser(draft).populateSchema(Adapter(schema_json), model);
        outcome = CJSONSCHEMA_VALID;
        if (!value) return;
        json value_json;
        try {
            value_json = parsed(*value);
        } catch (const Unreadable &fault) {
            throw BadValue(fault.what());
        } catch (const json::out_of_range &) {
            throw BadValue("a number in it is larger than any that is read");
        } catch (const json::exception &) {
            throw BadValue("it is not JSON");
        }
        convert_large_numbers(value_json);
        Checker checker(survey);
        checker.check(model, value_json);
        violations = std::move(checker.violations);
        if (!violations.empty()) outcome = CJSONSCHEMA_INVALID;
    }

    void fail(cjsonschema_outcome reason, const char *fact) {
        violations.clear();
        violations.push_back({"", fact, "", {}});
        outcome = reason;
    }
};

// A thread's function must not throw.
void *run(void *context) noexcept {
    auto &check = *static_cast<Check *>(context);
    try {
        try {
            check.run();
        } catch (const BadValue &error) {
            check.fail(CJSONSCHEMA_BAD_VALUE, error.what());
        } catch (const std::bad_alloc &) {
            check.outcome = CJSONSCHEMA_NO_RESOURCES;
        } catch (const std::exception &error) {
            // Includes the errors of valijson's parser.
            check.fail(CJSONSCHEMA_BAD_SCHEMA, error.what());
        }
    } catch (...) {
        check.outcome = CJSONSCHEMA_NO_RESOURCES;
    }
    return nullptr;
}

bool run_on_own_thread(Check &check) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_t thread;
    const bool runs = pthread_attr_setstacksize(&attributes, stack_size) == 0
                      && pthread_create(&thread, &attributes, run, &check) == 0;
    pthread_attr_destroy(&attributes);
    return runs && pthread_join(thread, nullptr) == 0;
}

cjsonschema_text text(const std::string &string) { return {string.data(), string.size()}; }

} // namespace

cjsonschema_outcome cjsonschema_check(
    cjsonschema_text schema, const cjsonschema_text *value, cjsonschema_report report,
    void *context) {
    try {
        Check check{schema, value, CJSONSCHEMA_NO_RESOURCES, {}};
        if (!run_on_own_thread(check)) return CJSONSCHEMA_NO_RESOURCES;
        for (const auto &violation : check.violations) {
            std::vector<cjsonschema_text> names;
            for (const auto &name : violation.names) names.push_back(text(name));
            const cjsonschema_violation out{
                text(violation.path), text(violation.fact), text(violation.key), names.data(),
                names.size()};
            report(context, &out);
        }
        return check.outcome;
    } catch (...) {
        return CJSONSCHEMA_NO_RESOURCES;
    }
}
