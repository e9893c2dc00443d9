// Options as text: counts at the limits of their type, which programs of others may give. tests/api/test_option_text.py has the rest.
#include <climits>
#include <cstring>

#include "stz_cd_values.h"
#include "unit.h"

TEST(counts_at_the_limits_of_their_type_are_refused) {
  for (int32_t stz_options::*const field : {&stz_options::append_axis, &stz_options::threads, &stz_options::effort, &stz_options::layers})
    for (const int32_t value : {INT_MIN, INT_MAX}) {
      stz_options options = STZ_OPTIONS_INIT;
      options.*field = value;
      char text[300] = "as it was", message[300] = "";
      size_t length = 0;
      const int error = stz_options_print_text(&options, 0, text, sizeof text, &length, message, sizeof message);
      CHECK(error != STZ_OK && *message, "%d: %s", value, text);
    }
}
