// Arrays with options from a fuzzer's bytes (arrays.h).
#include "arrays.h"

namespace fuzz {
namespace {

void choose_shape(Choices& choose, stz_layout& layout) {
  // elements: a thousand take some 10 ms under sanitizers
  static constexpr uint64_t small[] = {12, 24, 24, 24, 60, 60, 100, 200}, large[] = {400, 400, 400, 400, 400, 1500, 1500, 4000};
  const uint64_t limit = choose.slow(2048) ? 12000 : (choose.slow(64) ? large : small)[choose.below(8)];
  layout.rank = int(choose.below(8));
  if (layout.rank == 7) layout.rank = 1 + int(choose.below(STZ_MAX_RANK));
  uint64_t count = 1;
  for (int axis = 0; axis < layout.rank; axis++) {
    uint64_t numbers_left = limit / count;
    static const uint64_t nice[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 257, 1021};
    uint64_t extent;
    switch (choose.below(4)) {
      case 0:
        extent = 1 + choose.below(17);
        break;
      case 1:
        extent = nice[choose.below(25)];
        break;
      case 2:
        extent = 1 + choose.below(65536) % std::max<uint64_t>(numbers_left, 1);
        break;
      default:
        extent = uint64_t(std::pow(double(numbers_left), 1.0 / (layout.rank - axis)));
        break;
    }
    layout.shape[axis] = std::clamp<uint64_t>(extent, 1, std::max<uint64_t>(numbers_left, 1));
    count *= layout.shape[axis];
  }
  if (layout.rank && choose.below(256) == 255) layout.shape[choose.below(uint64_t(layout.rank))] = 0;
}

// Numbers of one pattern, before masks.
void fill_numbers(Choices& choose, Case& c, std::vector<uint64_t>& numbers) {
  const int dtype = c.layout.dtype;
  const uint64_t count = numbers.size();
  const uint64_t all = all_bits(dtype);
  c.pattern = int(choose.below(17));
  Random random(choose.word());
  const int exponent = int(random.below(9)) == 0 ? int(random.below(600)) - 300 : int(random.below(12)) - 3;
  const double scale = std::ldexp(1.0, exponent), offset = random.below(3) ? 0 : random.normal() * scale * 100;
  const double phase = random.unit(), slope[4] = {random.normal(), random.normal(), random.normal(), random.normal()};
  double walk = 0;
  const uint64_t constant = random.bits() & all;
  const double delta = random.below(2) ? std::ldexp(1.0, int(random.below(12)) - 6) : 0.001 * double(1 + random.below(100));
  uint64_t row = c.layout.rank ? std::max<uint64_t>(c.layout.shape[c.layout.rank - 1], 1) * uint64_t(parts(dtype)) : 1;
  for (uint64_t i = 0; i < count; i++) {
    const double x = double(i % row) / double(row), y = double(i / row) / double(count / row + 1);
    const double smooth = std::sin(6 * x + phase) * std::cos(9 * y) + slope[0] * x + slope[1] * y * y;
    double value;
    switch (c.pattern) {
      case 0:
        value = offset + scale * smooth;
        break;
      case 1:
        value = offset + scale * random.normal();
        break;
      case 2:
        numbers[i] = constant;
        continue;
      case 3:
        value = offset + (x + y > 0.9 + 0.3 * phase ? scale * 1000 : scale * smooth * 1e-3);
        break;
      case 4:
        numbers[i] = random.bits() & all;
        continue;
      case 5:  // denormal, or small integers
        numbers[i] = random.bits() & (is_floating(dtype) ? (number_size(dtype) == 8   ? 0xfffff
                                                            : number_size(dtype) == 4 ? 0xfff
                                                                                      : 0x3f)
                                                         : 3);
        if (is_floating(dtype) && random.below(2)) numbers[i] |= sign_bit(dtype);
        continue;
      case 6: {  // the ends of the type's range
        uint64_t step = random.below(4);
        bool negative = random.below(2);
        if (is_floating(dtype))
          numbers[i] = (infinity_bits(dtype) - 1 - step) | (negative ? sign_bit(dtype) : 0);
        else
          numbers[i] = (negative ? sign_bit(dtype) + step : sign_bit(dtype) - 1 - step) & all;
        if (!is_floating(dtype) && random.below(2)) numbers[i] = negative ? step : all - step;
        continue;
      }
      case 7:
        numbers[i] = (i < 64 ? choose.word() : random.below(8) ? numbers[i - 1 - random.below(8)] : random.bits()) & all;
        continue;
      case 8:
        value = random.below(40) ? 0 : scale * random.normal();
        break;
      case 9:
        value = offset + delta * std::rint(smooth * 300);
        break;
      case 10:
        value = offset + scale * (slope[2] * double(i % row) + slope[3] * double(i / row));
        break;
      case 11:
        value = scale * smooth * (i == count / 3 ? 1e20 : 1);
        break;
      case 12:
        value = std::rint(20 * smooth);
        break;
      case 13:
        walk += random.normal();
        value = offset + scale * walk;
        break;
      case 14:
        value = scale * std::exp(20 * smooth) * (random.below(9) ? 1 : -1);
        break;
      case 16:  // few values
        value = (smooth < 0 ? -1 : 1) * scale * std::expm1(0.02 * std::fabs(std::rint(smooth * 60 * slope[2])));
        break;
      default:
        value = smooth * largest_floating(dtype) * (is_floating(dtype) ? 0.9 : 1e-300);
        break;
    }
    numbers[i] = bits_of_number(dtype, value);
    if (!is_floating(dtype) && c.pattern == 15)
      numbers[i] = bits_of_number(dtype, smooth * std::ldexp(1.0, int(8 * number_size(dtype)) - 1));
  }
}

void add_masks(Choices& choose, Case& c, std::vector<uint64_t>& numbers) {
  const int dtype = c.layout.dtype;
  const uint64_t all = all_bits(dtype);
  c.mask = int(choose.below(12));
  Random random(choose.word());
  if (choose.below(3) == 0) {
    c.options.has_fill = 1;
    switch (choose.below(6)) {
      case 0:
        c.options.fill = 0;
        break;
      case 1:
        c.options.fill = bits_of_number(dtype, -9999);
        break;
      case 2:
        c.options.fill = bits_of_number(dtype, 1e20);
        break;
      case 3:
        c.options.fill = is_floating(dtype) ? infinity_bits(dtype) : all;
        break;
      case 4:
        c.options.fill = is_floating(dtype) ? infinity_bits(dtype) | 1 : sign_bit(dtype);
        break;
      default:
        c.options.fill = numbers.empty() ? 7 : numbers[random.below(numbers.size())];
        break;
    }
  }
  auto special = [&]() -> uint64_t {
    if (c.options.has_fill && random.below(3)) return c.options.fill;
    if (!is_floating(dtype)) return c.options.fill;
    uint64_t infinity = infinity_bits(dtype), sign = random.below(2) ? sign_bit(dtype) : 0;
    switch (random.below(4)) {
      case 0:
        return infinity | sign;
      case 1:
        return infinity | (infinity >> 1 & ~infinity) | sign;
      case 2:
        return infinity | 1 | (random.bits() & (sign_bit(dtype) - 1)) | sign;
      default:
        return infinity | (infinity ^ (infinity << 1 & (sign_bit(dtype) - 1))) >> 1;
    }
  };
  const uint64_t count = numbers.size();
  if (!count || c.mask < 5) return;
  if (!is_floating(dtype) && !c.options.has_fill) return;
  const uint64_t nan = special();
  for (uint64_t i = 0; i < count; i++) {
    switch (c.mask) {
      case 5:
        if (random.below(30) == 0) numbers[i] = nan;
        break;
      case 6:
        if (random.below(30) == 0) numbers[i] = special();
        break;
      case 7:
        numbers[i] = nan;
        break;
      case 8:
        numbers[i] = special();
        break;
      case 9:
        if (i != count / 2) numbers[i] = nan;
        break;
      case 10:
        if ((i / 7) % 3 == 0) numbers[i] = nan;
        break;
      default:
        if (random.below(2)) numbers[i] = special();
        break;
    }
  }
}

// Trailing planes of one bit pattern, as HDF5 pads edge chunks.
void add_padding(Choices& choose, const Case& c, std::vector<uint64_t>& numbers) {
  if (choose.below(4) != 0 || numbers.empty()) return;
  uint64_t pattern = numbers[choose.below(numbers.size())];
  if (is_floating(c.layout.dtype) && choose.below(2)) pattern = infinity_bits(c.layout.dtype) | 5;
  for (int axis = 0; axis < c.layout.rank; axis++) {
    uint64_t keep = c.layout.shape[axis] - choose.below(256) % c.layout.shape[axis], stride = uint64_t(parts(c.layout.dtype));
    for (int k = axis + 1; k < c.layout.rank; k++) stride *= c.layout.shape[k];
    for (uint64_t i = 0; i < numbers.size(); i++)
      if (i / stride % c.layout.shape[axis] >= keep) numbers[i] = pattern;
  }
}

void choose_bound(Choices& choose, Case& c, const std::vector<uint64_t>& numbers) {
  c.options.integers = STZ_INTEGERS_BOUNDED;
  c.options.mode = int(choose.below(6)) >= 3 ? STZ_ABSOLUTE : int(choose.below(3));
  if (c.options.mode == STZ_POINTWISE_RELATIVE && !is_floating(c.layout.dtype)) c.options.mode = STZ_ABSOLUTE;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (uint64_t bits : numbers) {
    if (!is_finite(c.layout.dtype, bits)) continue;
    double value = is_floating(c.layout.dtype) ? floating_value(c.layout.dtype, bits) : double(integer_value(c.layout.dtype, bits));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double range = high > low ? std::min(high - low, 1.7e308) : 1, largest = std::max({std::fabs(low), std::fabs(high), 1e-320});
  if (!(range < std::numeric_limits<double>::infinity())) range = 1e308;
  if (!(largest < std::numeric_limits<double>::infinity())) largest = 1;
  double fine = 1 + double(choose.byte()) / 256;
  double& bound = c.options.bound;
  if (c.options.mode == STZ_POINTWISE_RELATIVE) {
    static const double some[] = {1e-7, 1e-5, 1e-3, 0.01, 0.3, 0.9, 1.0, 3.0, 1e-16, 0, 1e300, 5e-324};
    bound = some[choose.below(12)] * (choose.below(2) ? 1 : fine);
  } else {
    switch (choose.below(12)) {
      case 0:
        bound = range * 0.1 * fine;
        break;
      case 1:
        bound = range * 1e-2 * fine;
        break;
      case 2:
        bound = range * 1e-4 * fine;
        break;
      case 3:
        bound = range * std::ldexp(fine, -int(choose.below(64)));
        break;
      case 4:
        bound = largest * std::ldexp(1.0, -22 - int(choose.below(6))) * fine;
        break;  // near an ulp of float32
      case 5:
        bound = largest * std::ldexp(1.0, -50 - int(choose.below(6))) * fine;
        break;  // near an ulp of float64
      case 6:
        bound = largest * std::ldexp(1.0, -9 - int(choose.below(6))) * fine;
        break;  // near an ulp of float16
      case 7:
        bound = 5e-324 * double(1 + choose.below(300));
        break;
      case 8:
        bound = choose.below(2) ? 0 : 1.7976931348623157e308;
        break;
      case 9:
        bound = double(choose.below(300)) / 4;
        break;
      case 10:
        bound = std::ldexp(fine, int(choose.below(140)) - 70);
        break;
      default:
        bound = range * 1e-3;
        break;
    }
    if (!(bound < std::numeric_limits<double>::infinity())) bound = 1e300;
  }
}

// What is left of stz_options. Options that contradict each other are not among them.
void choose_options(Choices& choose, Case& c) {
  stz_options& options = c.options;
  options.block = int(choose.below(3));
  options.content_check = int(choose.below(3));
  options.effort = choose.below(4) ? 0 : 1 + int(choose.below(9));
  options.threads = choose.below(16) ? 0 : 3;
  if (choose.below(4) == 0) options.append_axis = int(choose.below(uint64_t(c.layout.rank) + 1));
  options.keep_range = choose.below(8) == 0;
  options.keep_zeros = choose.below(8) == 0;
  if (choose.below(8) == 0) options.valid_range[1] = 1 + double(choose.byte());
  if (options.mode == STZ_LOSSLESS) options.bound_used = choose.below(8) == 0;
  switch (choose.below(8)) {
    case 0:
      options.layers = 1 + int(choose.below(STZ_MAX_LAYERS));
      break;
    case 1:
      if (options.mode != STZ_ABSOLUTE || !is_floating(c.layout.dtype) || !(options.bound > 1e-250 && options.bound < 1e250)) break;
      for (uint64_t k = 0, count = 1 + choose.below(3); k < count; k++)
        options.layer_bounds[k] = options.bound * std::ldexp(1 + double(choose.byte()) / 256, 2 + 4 * int(count - k));
      break;
    case 2:
      options.enhance = 1 + int(choose.below(3));
      break;
    default:
      break;
  }
  if (!options.enhance) options.favour = choose.below(3);
}

}  // namespace

Case make_case(const uint8_t* data, size_t size) {
  Choices choose(data, size);
  Case c;
  c.layout.dtype = STZ_F16 + int(choose.below(dtypes));
  c.layout.byte_order = int(choose.below(8) == 7);
  choose_shape(choose, c.layout);
  std::vector<uint64_t> numbers(elements(c.layout) * uint64_t(parts(c.layout.dtype)));
  fill_numbers(choose, c, numbers);
  choose_bound(choose, c, numbers);
  add_masks(choose, c, numbers);
  add_padding(choose, c, numbers);
  choose_options(choose, c);
  const size_t width = number_size(c.layout.dtype);
  c.array.resize(numbers.size() * width);
  for (size_t i = 0; i < numbers.size(); i++) store_number(&c.array[i * width], numbers[i], width, swapped(c.layout));
  return c;
}

std::string describe(const Case& c) {
  char text[400];
  std::string shape;
  for (int axis = 0; axis < c.layout.rank; axis++) shape += (axis ? "x" : "") + std::to_string(c.layout.shape[axis]);
  snprintf(text, sizeof text,
           " [dtype %d, %s endian, shape %s, mode %d, bound %a, fill %d %llx, block %d, effort %d, threads %d, layers %d (%a), append %d, "
           "enhance %d, pattern %d, mask %d]",
           c.layout.dtype, c.layout.byte_order ? "big" : "little", shape.c_str(), c.options.mode, c.options.bound, c.options.has_fill,
           (unsigned long long)c.options.fill, c.options.block, c.options.effort, c.options.threads, c.options.layers,
           c.options.layer_bounds[0], c.options.append_axis, c.options.enhance, c.pattern, c.mask);
  return text;
}

}  // namespace fuzz
