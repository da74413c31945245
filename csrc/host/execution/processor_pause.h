// What a thread does between two looks at what it polls.
#ifndef GRIDSTRIDE_HOST_PROCESSOR_PAUSE_H
#define GRIDSTRIDE_HOST_PROCESSOR_PAUSE_H

namespace gridstride::host {

// Tells the other hardware thread of the core that this one polls.
inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace gridstride::host

#endif
