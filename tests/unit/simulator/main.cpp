#include <unistd.h>

#include "check.h"

int main(int count, char** arguments) {
  CHECK(count == 2);
  alarm(60);  // a deadlock is a failure
  const auto found = cases().find(arguments[1]);
  CHECK(found != cases().end());
  found->second();
  return 0;
}
