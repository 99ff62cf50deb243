// text.hpp - Texts of violations and errors.
#ifndef CJSONSCHEMA_TEXT_HPP
#define CJSONSCHEMA_TEXT_HPP

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cjsonschema {

using json = nlohmann::json;

// The longest name that errors show, in bytes.
constexpr size_t longest_name = 64;

inline std::string in_quotes(const std::string &text) {
    if (text.size() <= longest_name) return "'" + text + "'";
    size_t end = longest_name;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return "'" + text.substr(0, end) + "…'";
}

inline std::string number(int64_t value) { return std::to_string(value); }

inline std::string number(double value) {
    constexpr double most_exact = 9007199254740992;
    return std::trunc(value) == value && std::fabs(value) <= most_exact
               ? number(static_cast<int64_t>(value))
               : json(value).dump();
}

inline std::string counted(uint64_t count, const char *thing, const char *things) {
    return std::to_string(count) + " " + (count == 1 ? thing : things);
}

inline std::string joined(const std::vector<std::string> &words, const char *last) {
    std::string text;
    for (size_t index = 0; index < words.size(); ++index) {
        if (index > 0) text += index + 1 == words.size() ? last : ", ";
        text += words[index];
    }
    return text;
}

inline size_t characters(const std::string &text) {
    size_t count = 0;
    for (unsigned char byte : text) count += (byte & 0xC0) != 0x80;
    return count;
}

} // namespace cjsonschema

#endif
