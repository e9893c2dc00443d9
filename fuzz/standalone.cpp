// A driver for fuzz targets where libFuzzer is missing: mutated seeds from a generator of random numbers, one after the other.
//
//   target [--first=N] [--iterations=N] [--seconds=N] [file ...]
//
// Files are run as they are, and those that are valid streams are counted. The number of the input at work is printed when a target stops;
// --first=N --iterations=1 repeats it.
#include <unistd.h>
#include <csignal>
#include <ctime>

#include "fuzz_common.h"

namespace {

volatile uint64_t input_number = 0;

// Writes the number of the input to standard error with what a signal handler may call.
void report(const char* what) {
  char text[96];
  size_t length = 0;
  for (; *what; what++) text[length++] = *what;
  char digits[24];
  int count = 0;
  for (uint64_t rest = input_number; rest || !count; rest /= 10) digits[count++] = char('0' + rest % 10);
  while (count) text[length++] = digits[--count];
  text[length++] = '\n';
  if (write(2, text, length) < 0) _exit(3);
}
void on_alarm(int) {
  report("an input takes too long: repeat with --iterations=1 --first=");
  _exit(2);
}
void on_abort(int) {
  report("repeat with --iterations=1 --first=");
  signal(SIGABRT, SIG_DFL);
  raise(SIGABRT);
}

bool run_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return false;
  fuzz::Bytes input;
  for (int byte; (byte = fgetc(file)) != EOF;) input.push_back(uint8_t(byte));
  fclose(file);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  uint64_t first = 0, iterations = ~uint64_t(0), seconds = 0;
  bool files = false;
  for (int k = 1; k < count; k++) {
    std::string argument = arguments[k];
    auto number = [&](const char* name, uint64_t& value) {
      std::string start = std::string("--") + name + "=";
      if (argument.compare(0, start.size(), start) != 0) return false;
      value = strtoull(argument.c_str() + start.size(), nullptr, 10);
      return true;
    };
    if (number("first", first) || number("iterations", iterations) || number("seconds", seconds)) continue;
    files = true;
    if (!run_file(arguments[k])) {
      fprintf(stderr, "cannot read %s\n", arguments[k]);
      return 1;
    }
  }
  if (files) {
    printf("%llu inputs accepted\n", static_cast<unsigned long long>(fuzz::inputs_accepted));
    return 0;
  }
  if (!seconds && iterations == ~uint64_t(0)) iterations = 1000;
  signal(SIGALRM, on_alarm);
  signal(SIGABRT, on_abort);
  const time_t start = time(nullptr);
  uint64_t done = 0;
  for (; done < iterations && !(seconds && uint64_t(time(nullptr) - start) >= seconds); done++) {
    input_number = first + done;
    fuzz::Bytes input = fuzz::seed_input(input_number);
    fuzz::mutate_input(input, input_number);
    fuzz::Bytes exact(input);  // no spare capacity behind the last byte
    alarm(1800);               // sanitizers are slow, and the machine may be busy
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  }
  printf("%llu inputs, no findings\n", (unsigned long long)done);
}
