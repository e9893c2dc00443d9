// Maps HDF5 datatypes (datatype.h). Invariant: a type is accepted only if every bit of its elements has the same place in the codec's
// type. A type that merely has the right size (a 12-bit integer in 16, FP8 E3M4) is refused by name.
#include "hdf5/datatype.h"

#include <cstring>

#include "base/element_type.h"
#include "stz.h"

namespace stz::hdf5 {
namespace {

// HDF5 does not say whether the largest exponent of a type has numbers, so FP8 E4M3 is the one that has (E4M3FN), as everywhere else.
constexpr int floating_types[] = {STZ_F16, STZ_F32, STZ_F64, STZ_BF16, STZ_F8_E4M3, STZ_F8_E5M2};

// Member names that programs use for complex numbers: h5py, PyTables, Julia; Octave, MATLAB.
constexpr const char* complex_names[][2] = {{"r", "i"}, {"real", "imag"}};

const char* class_name(const Library& library, hid_t type, int type_class) {
  switch (type_class) {
    case type_time:
      return "a time type";
    case type_string:
      return library.H5Tis_variable_str(type) > 0 ? "a variable-length string" : "a fixed-length string";
    case type_opaque:
      return "an opaque type";
    case type_compound:
      return "a compound type (a record)";
    case type_reference:
      return "a reference";
    case type_variable_length:
      return "a variable-length sequence";
    case type_array:
      return "an array type (a small array in every element)";
    default:
      return "a type unknown to this version";
  }
}

bool unsupported(const char* what, Message& message) {
  message.set(
      "cannot compress %s: only integers, IEEE half, single and double floats, complex numbers of two single or double "
      "floats, enumerations and bit fields; create this dataset without the h5stz filter",
      what);
  return false;
}

// Refuses VAX and mixed orders. A single byte has no order.
bool byte_order(const Library& library, hid_t type, size_t size, ElementType& element, Message& message) {
  const int order = library.H5Tget_order(type);
  if (size != 1 && order != order_little && order != order_big)
    return unsupported("numbers whose byte order is neither little nor big endian", message);
  element.byte_order = size != 1 && order == order_big ? STZ_BIG : STZ_LITTLE;
  return true;
}

bool integer_type(const Library& library, hid_t type, bool is_signed, ElementType& element, Message& message) {
  const size_t size = library.H5Tget_size(type);
  const size_t precision = library.H5Tget_precision(type);
  if (precision != size * 8) {
    message.set(
        "cannot compress integers of %zu bits in %zu bytes: only integers that use all their bits; store them as a "
        "full-width integer",
        precision, size);
    return false;
  }
  switch (size) {
    case 1:
      element.dtype = is_signed ? STZ_I8 : STZ_U8;
      break;
    case 2:
      element.dtype = is_signed ? STZ_I16 : STZ_U16;
      break;
    case 4:
      element.dtype = is_signed ? STZ_I32 : STZ_U32;
      break;
    case 8:
      element.dtype = is_signed ? STZ_I64 : STZ_U64;
      break;
    default:
      message.set("cannot compress integers of %zu bytes: only 1, 2, 4 and 8; create this dataset without the h5stz filter", size);
      return false;
  }
  return byte_order(library, type, size, element, message);
}

bool float_type(const Library& library, hid_t type, ElementType& element, Message& message) {
  const size_t size = library.H5Tget_size(type);
  const size_t precision = library.H5Tget_precision(type);
  size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  if (library.H5Tget_fields(type, &sign_at, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) < 0)
    return unsupported("a float of unknown format", message);
  for (const int dtype : floating_types) {
    const FloatFormat format = float_format(dtype);
    if (size == element_size(dtype) && precision == size * 8 && sign_at == size * 8 - 1 &&
        exponent_at == static_cast<size_t>(format.mantissa_bits) && exponent_bits == static_cast<size_t>(format.exponent_bits) &&
        mantissa_at == 0 && mantissa_bits == static_cast<size_t>(format.mantissa_bits) &&
        library.H5Tget_ebias(type) == static_cast<size_t>(format.bias()) && library.H5Tget_norm(type) == norm_implied) {
      element.dtype = dtype;
      return byte_order(library, type, size, element, message);
    }
  }
  if (size == 16) {  // long double of x86, binary128
    element.dtype = STZ_U64;
    element.parts = 2;
    return byte_order(library, type, size, element, message);
  }
  const char* known_as = size == 1 ? " (FP8)" : size >= 10 && exponent_bits == 15 ? " (long double)" : "";
  message.set(
      "cannot compress %zu-byte floats%s with %zu exponent and %zu mantissa bits: only IEEE half, single and double "
      "precision, bfloat16, FP8 E4M3 and E5M2; convert the data or create this dataset without the h5stz filter",
      size, known_as, exponent_bits, mantissa_bits);
  return false;
}

bool complex_of(const Library& library, hid_t part, ElementType& element, Message& message) {
  if (!float_type(library, part, element, message)) return false;
  if (element.parts != 1) return unsupported("complex numbers of two floats of 16 bytes (long double)", message);
  if (is_short_float(element.dtype)) {
    message.set("cannot compress complex numbers of two floats of 8 or 16 bits: store the parts as floats, along an axis of two");
    return false;
  }
  element.dtype = element.dtype == STZ_F32 ? STZ_C64 : STZ_C128;
  return true;
}

bool has_complex_names(const Library& library, hid_t type) {
  char* real = library.H5Tget_member_name(type, 0);
  char* imaginary = library.H5Tget_member_name(type, 1);
  bool match = false;
  for (const auto& names : complex_names)
    match = match || (real && imaginary && !std::strcmp(real, names[0]) && !std::strcmp(imaginary, names[1]));
  if (real) library.H5free_memory(real);
  if (imaginary) library.H5free_memory(imaginary);
  return match;
}

bool compound_type(const Library& library, hid_t type, ElementType& element, Message& message) {
  const char* const refusal = class_name(library, type, type_compound);
  if (library.H5Tget_nmembers(type) != 2 || !has_complex_names(library, type)) return unsupported(refusal, message);
  const TypeId real(library, library.H5Tget_member_type(type, 0));
  const TypeId imaginary(library, library.H5Tget_member_type(type, 1));
  if (!real.valid() || !imaginary.valid() || library.H5Tget_class(real.get()) != type_float ||
      library.H5Tget_class(imaginary.get()) != type_float) {
    return unsupported(refusal, message);
  }
  ElementType second;
  if (!complex_of(library, real.get(), element, message) || !complex_of(library, imaginary.get(), second, message)) return false;
  const size_t part = stz_element_size(element.dtype) / 2;
  if (second.dtype != element.dtype || second.byte_order != element.byte_order || library.H5Tget_member_offset(type, 0) != 0 ||
      library.H5Tget_member_offset(type, 1) != part || library.H5Tget_size(type) != 2 * part) {
    return unsupported("a complex number whose two parts differ or do not lie side by side", message);
  }
  return true;
}

}  // namespace

bool element_type(const Library& library, hid_t type, ElementType& element, Message& message) {
  const int type_class = library.H5Tget_class(type);
  switch (type_class) {
    case type_integer:
      return integer_type(library, type, library.H5Tget_sign(type) != sign_none, element, message);
    case type_float:
      return float_type(library, type, element, message);
    case type_compound:
      return compound_type(library, type, element, message);
    case type_bitfield: {
      element.exact_only = true;
      return integer_type(library, type, false, element, message);
    }
    case type_enum: {
      const TypeId base(library, library.H5Tget_super(type));
      if (!base.valid() || library.H5Tget_class(base.get()) != type_integer)
        return unsupported("an enumeration whose base type is not an integer", message);
      element.exact_only = true;
      return integer_type(library, base.get(), library.H5Tget_sign(base.get()) != sign_none, element, message);
    }
    case type_complex: {
      const TypeId part(library, library.H5Tget_super(type));
      if (!part.valid() || library.H5Tget_class(part.get()) != type_float)
        return unsupported("a complex number whose parts are not floats", message);
      return complex_of(library, part.get(), element, message);
    }
    default:
      return unsupported(class_name(library, type, type_class), message);
  }
}

}  // namespace stz::hdf5
