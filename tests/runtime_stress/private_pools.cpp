#include "private_pools.h"

#include <c10/util/Exception.h>

#include <string>

#include "generated/runtime/AcmeAllocator.h"
#include "invariants.h"
#include "memory_model.h"

namespace stress {

#ifdef CACHING
void PrivatePools::begin_or_release(uint64_t random) {
  if (uses_ > 0 && random % 2 == 0) {
    acme::getAcmeAllocator().releasePool(device_, pool_);
    --uses_;
    return;
  }
  if (uses_ == 0) {
    device_ = static_cast<c10::DeviceIndex>(random / 2 % kDevices);
    // Few pools, so that one is used again while memory of it is alive.
    pool_ = {thread_ + 1, random / 4 % 2};
  }
  // In this order, which empty_cache() relies on.
  ++redirections_.present;
  ++redirections_.begun;
  acme::getAcmeAllocator().beginAllocateToPool(device_, pool_,
                                               [own = stream(device_)](c10::Stream stream) { return stream == own; });
  ++uses_;
  is_redirected_ = true;
}

void PrivatePools::end() {
  acme::getAcmeAllocator().endAllocateToPool(device_, pool_);
  --redirections_.present;
  is_redirected_ = false;
}

void PrivatePools::finish() {
  if (is_redirected_) {
    end();
  }
  for (; uses_ > 0; --uses_) {
    acme::getAcmeAllocator().releasePool(device_, pool_);
  }
}
#else
// A direct allocator has no pools.
void PrivatePools::begin_or_release(uint64_t) {}
void PrivatePools::end() {}
void PrivatePools::finish() {}
#endif

acme::AcmeStream PrivatePools::stream(c10::DeviceIndex device) const {
  // Behind those that all threads use.
  const auto number = static_cast<c10::StreamId>(kSharedStreams + thread_);
  return acme::AcmeStream(c10::Stream::unpack3(number << 10 | 1, device, c10::DeviceType::PrivateUse1));
}

c10::MempoolId_t PrivatePools::pool_for(const acme::AcmeStream& stream) const {
  return is_redirected_ && stream == this->stream(device_) ? pool_ : kNoPrivatePool;
}

bool PrivatePools::empty_cache(uint64_t random) {
  const uint64_t begun = redirections_.begun;
  const bool is_any_redirected = redirections_.present > 0;
  try {
    acme::getAcmeAllocator().emptyCache(uses_ > 0 && random % 2 == 0 ? pool_ : kNoPrivatePool);
    return true;
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    require(text.find("while a graph of acme:") != std::string::npos, text.c_str());
    require(is_any_redirected || redirections_.begun != begun, "the cache is emptied if nothing is redirected");
    return false;
  }
}

}  // namespace stress
