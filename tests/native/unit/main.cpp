// unit_tests [PART]: runs the tests of test_PART.cpp, or of all files. Prints a line for each failure and for each file.
#include <cstdarg>
#include <map>

#include "unit.h"

namespace unit {

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

void failed(const char* file, int line, const char* condition, const char* format, ...) {
  char text[400];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  throw Failed{std::string(file) + ":" + std::to_string(line) + ": not so: " + condition + text};
}

namespace {

std::string part_of(const char* file) {
  std::string name = file;
  name = name.substr(name.rfind('/') + 1);
  return name.substr(5, name.size() - 9);  // of test_PART.cpp
}

bool passes(const Test& test) {
  std::string what;
  try {
    test.run();
    return true;
  } catch (const Failed& failure) {
    what = failure.what;
  } catch (const Failure& failure) {
    what = "fails with the code " + std::to_string(failure.code);
  } catch (const std::exception& error) {
    what = error.what();
  }
  fprintf(stderr, "%s: %s\n", test.name, what.c_str());
  return false;
}

}  // namespace
}  // namespace unit

int main(int count, char** words) {
  std::map<std::string, int> passed;
  bool all = true;
  for (const unit::Test& test : unit::tests()) {
    const std::string part = unit::part_of(test.file);
    if (count > 1 && part != words[1]) continue;
    if (unit::passes(test))
      passed[part]++;
    else
      all = false;
  }
  for (const auto& [part, number] : passed) printf("%s: %d passed\n", part.c_str(), number);
  return all && !passed.empty() ? 0 : 1;
}
