// Tests the options of the frontends' commands. Its argument is a directory to write into.

#include "../common/command.hpp"

#include <fstream>
#include <functional>
#include <sstream>

#define CHECK(condition)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                           \
            std::exit(1);                                                                                                                  \
        }                                                                                                                                  \
    } while (false)

static std::string directory;

// The error with which something stops; nothing, if it returns.
static std::string stops(const std::function<void()> &something) {
    const std::string path = directory + "/stderr";
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        if (std::freopen(path.c_str(), "w", stderr) == nullptr) {
            _exit(3);
        }
        something();
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 0) {
        return "";
    }
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    CHECK(WEXITSTATUS(status) == 1 && text.str().rfind("error: ", 0) == 0);
    return text.str();
}

static backwater::Options options(const std::string &value) {
    std::string name = "command", option = "--n=" + value;
    char *words[] = {name.data(), option.data()};
    return backwater::Options(2, words, {{"n", ""}});
}

static void counts_are_whole_numbers_from_1() {
    CHECK(options("1").count("n") == 1 && options("2147483647").count("n") == 2147483647);
    for (const char *wrong : {"", "0", "-1", "+1", " 1", "1 ", "1.5", "1e2", "0x10", "2147483648", "99999999999999999999", "nan", "4x2"}) {
        CHECK(stops([&] { options(wrong).count("n"); }).find("--n: ") != std::string::npos);
    }
}

static void lists_of_counts_have_a_product() {
    CHECK(options("").counts("n").empty());
    CHECK((options("8").counts("n") == std::vector<int>{8}));
    CHECK((options("8x4,2").counts("n") == std::vector<int>{8, 4, 2}));
    CHECK((options("65536x32767").counts("n") == std::vector<int>{65536, 32767}));
    for (const char *wrong : {"0", "8x0", "8x", "x8", "8xx4", "8;4", "8 x 4", "2.5x2", "-8", "0x10", "nan", "65536x32768",
                              "2147483647x2147483647x2147483647", "8x4 "}) {
        CHECK(stops([&] { options(wrong).counts("n"); }).find("--n: ") != std::string::npos);
    }
}

static void flags_are_words() {
    for (const char *yes : {"true", "True", "t", "1", "yes"}) {
        CHECK(options(yes).flag("n"));
    }
    for (const char *no : {"false", "False", "f", "0", "no"}) {
        CHECK(!options(no).flag("n"));
    }
    for (const char *wrong : {"", "TRUE ", "2", "on"}) {
        CHECK(stops([&] { options(wrong).flag("n"); }).find("--n: ") != std::string::npos);
    }
}

static void numbers_are_finite() {
    CHECK(options("0.5").number("n") == 0.5);
    for (const char *wrong : {"", "nan", "inf", "1e999", "1x"}) {
        CHECK(stops([&] { options(wrong).number("n"); }).find("is not a number") != std::string::npos);
    }
}

static void results_are_checked_before_the_run() {
    CHECK(stops([] { backwater::check_results("", ""); }).empty());
    CHECK(stops([] { backwater::check_results("sh", "run"); }).empty());
    CHECK(stops([] { backwater::check_results("/bin/sh", "run"); }).empty());
    CHECK(stops([] { backwater::check_results("sh", ""); }).find("--directory") != std::string::npos);
    std::ofstream(directory + "/text") << "no program";
    for (const std::string &wrong : {std::string("no-such-command-of-anybody"), directory + "/none", directory + "/text", directory}) {
        CHECK(stops([&] { backwater::check_results(wrong, "run"); }).find("cannot be started") != std::string::npos);
    }
}

int main(int, char **words) {
    directory = words[1];
    counts_are_whole_numbers_from_1();
    lists_of_counts_have_a_product();
    flags_are_words();
    numbers_are_finite();
    results_are_checked_before_the_run();
    return 0;
}
