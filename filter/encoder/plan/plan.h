// What is decided about a stream of form `blocks` before its samples are coded (encoder): how they are represented, and with what.
#pragma once
#include <memory>

#include "base/faults.h"
#include "encoder/plan/array.h"
#include "encoder/plan/request.h"
#include "format/frame.h"

namespace stz {

template <class S>
struct Plan {
  Header header;               // all that it records but what coding tells (Sections::header)
  const S* samples = nullptr;  // all items of the batch, C order
  Buffer<S> own;               // the memory of `samples` if they are not the caller's
  std::shared_ptr<const Masks> masks;
  double unit = 1;  // half a quantisation step
  i32 effort = 0;
  int layers = 1;                 // precision layers that are wanted
  std::vector<int> unknown_bits;  // where they are cut; empty: evenly
  bool dead_zone = false;         // the quantiser of level 0 has a wide dead zone, and `unit` is as small as that calls for
  bool content_check = false;     // the CRC of each block of level 0 is wanted
  bool check_if_cheap = false;    // and is dropped again where it takes too many bytes
  int threads = 1;
  Bytes palette;  // its section

  // A plan for samples whose representation the header names, as the request wants it.
  Plan(const Header& representation, const Request& request, const S* all, std::shared_ptr<const Masks> of_samples, double half_step)
      : header(representation),
        samples(all),
        masks(std::move(of_samples)),
        unit(half_step),
        effort(request.effort),
        layers(request.layers),
        unknown_bits(request.unknown_bits),
        threads(request.threads) {
    header.form = Form::blocks;
    // Where samples have to become elements first, or lie among special values, a content check costs more time than is taken unasked.
    check_if_cheap = request.content_check == STZ_CONTENT_CHECK_DEFAULT;
    content_check = check_if_cheap ? samples_are_elements<S>(header) && !specials() : request.content_check == STZ_CONTENT_CHECK_WRITE;
  }
  // The same; the samples are made for it.
  Plan(const Header& representation, const Request& request, Buffer<S> made, std::shared_ptr<const Masks> of_samples, double half_step)
      : Plan(representation, request, made.data(), std::move(of_samples), half_step) {
    own = std::move(made);
    STZ_FAULT_POINT(samples, own.data(), own.size() * sizeof(S));
  }

  const u8* specials() const { return masks->specials_or_null(); }  // null: nothing is masked
  void without_layers() {
    layers = 1;
    unknown_bits.clear();
  }
};

}  // namespace stz
