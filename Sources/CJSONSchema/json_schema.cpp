#include "json_schema.h"

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>

#include "checker.hpp"
#include "errors.hpp"
#include "place.hpp"
#include "survey.hpp"
#include "text.hpp"
#include "valijson.hpp"

namespace {

using namespace cjsonschema;

// The maximum nesting of a JSON text.
constexpr int deepest_text = 128;
// valijson's parser recurses from schema to schema, also through references. This is enough for
// largest_schema levels without compiler optimization.
constexpr size_t stack_size = size_t{64} << 20;

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
        } catch (const json::out_of_range &) {
            throw BadSchema("a number in it is larger than any that is read");
        } catch (const json::exception &) {
            throw BadSchema("it is not JSON");
        }
        if (!schema_json.is_object() && !schema_json.is_boolean())
            throw BadSchema("it is neither an object nor a boolean");
        convert_large_numbers(schema_json);
        const auto draft = version(schema_json);
        try {
            const Survey survey(schema_json);
            valijson::Schema model;
            valijson::SchemaParser(draft).populateSchema(Adapter(schema_json), model);
            outcome = CJSONSCHEMA_VALID;
            if (value) check_value(survey, model);
        } catch (const std::bad_alloc &) {
            throw;
        } catch (const std::exception &) {
            // Not where the value, or the schema applied to it, is at fault.
            const bool is_of_schema = outcome != CJSONSCHEMA_VALID;
            if (!is_of_schema) throw;
            const FaultFinder finder(schema_json, draft);
            if (!finder.is_found) throw;
            fail(CJSONSCHEMA_BAD_SCHEMA, finder.fact.c_str(), finder.path);
        }
    }

    void check_value(const Survey &survey, const valijson::Schema &model) {
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

    void fail(cjsonschema_outcome reason, const char *fact, const std::string &path = "") {
        violations.clear();
        violations.push_back({path, fact, "", {}});
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
