// What a header says, for users.
#pragma once
#include "format/frame.h"

namespace stz {

stz_stream_info stream_info(const Header& h);

}  // namespace stz
