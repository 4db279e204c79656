// What the commands of all frontends have in common: options `--name value` or `--name=value`, and the results of a run.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace backwater {

// An error in the form of Backwater's command.
[[noreturn]] inline void stop(const std::string &reason) {
    std::fprintf(stderr, "error: %s\n", reason.c_str());
    std::exit(1);
}

// Options by their names, each with a value. A name that `known` does not have is an error.
class Options {
  public:
    Options(int count, char **words, std::map<std::string, std::string> known) : values_(std::move(known)) {
        for (int at = 1; at < count; at++) {
            const std::string word = words[at];
            const size_t equals = word.find('=');
            const std::string name = word.substr(0, equals);
            if (name.rfind("--", 0) != 0 || values_.count(name.substr(2)) == 0) {
                stop("there is no option " + name + "\nhint: docs/frontends.md of Backwater lists them");
            }
            if (equals == std::string::npos && at + 1 == count) {
                stop(name + " needs a value");
            }
            values_[name.substr(2)] = equals == std::string::npos ? words[++at] : word.substr(equals + 1);
        }
    }

    const std::string &text(const std::string &name) const { return values_.at(name); }

    // An option that must be given.
    const std::string &given(const std::string &name) const {
        if (text(name).empty()) {
            stop("--" + name + " is missing");
        }
        return text(name);
    }

    double number(const std::string &name) const {
        char *end = nullptr;
        const double value = std::strtod(text(name).c_str(), &end);
        if (text(name).empty() || *end != '\0' || !std::isfinite(value)) {
            stop("--" + name + ": " + text(name) + " is not a number");
        }
        return value;
    }

    // A whole number of at least 1, in decimal digits.
    int count(const std::string &name) const {
        const std::string &text = this->text(name);
        const char *at = text.data();
        const int value = count_at(name, at);
        if (at != text.data() + text.size()) {
            stop("--" + name + ": " + text + " is not a whole number of at least 1");
        }
        return value;
    }

    // Whole numbers of at least 1 with an `x` or a comma between them, whose product is also an int. Empty: none.
    std::vector<int> counts(const std::string &name) const {
        const std::string &text = this->text(name);
        const char *at = text.data(), *const end = at + text.size();
        std::vector<int> all;
        for (int64_t product = 1; at != end; at++) {
            all.push_back(count_at(name, at));
            product *= all.back();
            // A separator at the end has no number behind it.
            if (product > std::numeric_limits<int>::max() || (at != end && (at + 1 == end || (*at != 'x' && *at != ',')))) {
                stop("--" + name + ": " + text + " is not a list of whole numbers, such as 4x2, with a product below 2^31");
            }
            if (at == end) {
                break;
            }
        }
        return all;
    }

    // The words of ASTRA-sim's parsers, and yes and no.
    bool flag(const std::string &name) const {
        return one_of(name, {"false", "False", "f", "F", "0", "no", "true", "True", "t", "T", "1", "yes"}) >= 6;
    }

    // One of several words; returns its place among them.
    size_t one_of(const std::string &name, const std::vector<std::string> &words) const {
        std::string all;
        for (size_t at = 0; at < words.size(); at++) {
            if (words[at] == text(name)) {
                return at;
            }
            all += (at == 0 ? "" : ", ") + words[at];
        }
        stop("--" + name + ": " + text(name) + " is not one of: " + all);
    }

    // Numbers with an `x` or a comma between them.
    std::vector<double> list(const std::string &name) const {
        std::vector<double> all;
        const std::string &text = this->text(name);
        for (const char *at = text.c_str(); *at != '\0';) {
            char *end = nullptr;
            all.push_back(std::strtod(at, &end));
            if (end == at || (*end != '\0' && *end != 'x' && *end != ',')) {
                stop("--" + name + ": " + text + " is not a list of numbers, such as 4x2");
            }
            at = *end == '\0' ? end : end + 1;
        }
        return all;
    }

  private:
    // The number that begins at `at`, which is then behind it.
    int count_at(const std::string &name, const char *&at) const {
        const std::string &text = this->text(name);
        int value = 0;
        const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
        if (error != std::errc() || value < 1) {
            stop("--" + name + ": " + text + " has something else than whole numbers from 1 to 2147483647");
        }
        at = end;
        return value;
    }

    std::map<std::string, std::string> values_;
};

// Whether a command can be started: a path of an executable file, or a name that PATH finds.
inline bool can_start(const std::string &command) {
    const auto is_executable = [](const std::string &path) {
        struct stat file = {};
        return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
    };
    if (command.find('/') != std::string::npos) {
        return is_executable(command);
    }
    const char *places = std::getenv("PATH");
    const std::string all = places == nullptr ? "/bin:/usr/bin" : places;
    for (size_t at = 0; at <= all.size();) {
        const size_t end = std::min(all.find(':', at), all.size());
        if (is_executable((end == at ? "." : all.substr(at, end - at)) + "/" + command)) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

// Before a run: an error, if its results could not be written after it.
inline void check_results(const std::string &command, const std::string &directory) {
    if (command.empty()) {
        return;
    }
    if (directory.empty()) {
        stop("--backwater needs --directory, which has the run that it repeats");
    }
    if (!can_start(command)) {
        stop("--backwater: " + command + " cannot be started\nhint: name the command backwater, or its path, such as .venv/bin/backwater");
    }
}

// Repeats a run that left a directory, with `backwater run`, so that report, why and export work on it. Returns whether it did.
inline bool results(const std::string &command, const std::string &directory) {
    const std::string scenario = directory + "/scenario.toml", out = directory + "/results";
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        execlp(command.c_str(), command.c_str(), "run", scenario.c_str(), "--out", out.c_str(), static_cast<char *>(nullptr));
        std::fprintf(stderr, "error: %s cannot be started\n", command.c_str());
        _exit(127);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

} // namespace backwater
