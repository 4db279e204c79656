// What the commands of all frontends have in common: options `--name value` or `--name=value`, and the results of a run.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

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
        if (text(name).empty() || *end != '\0') {
            stop("--" + name + ": " + text(name) + " is not a number");
        }
        return value;
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
    std::map<std::string, std::string> values_;
};

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
