// What stream capture means for the functions of the API: which of their calls become nodes of a
// graph, and which are refused. While no capture is running each of these costs one relaxed load.
//
// The rules are those of the CUDA programming guide, "Prohibited and unhandled operations", and of
// cudaThreadExchangeStreamCaptureMode. A call that breaks them spoils the captures concerned: until
// cudaStreamEndCapture, which then fails, everything about them is refused.
#ifndef GRIDSTRIDE_HOST_CAPTURE_H
#define GRIDSTRIDE_HOST_CAPTURE_H

#include <memory>

#include "host/graph/graph.h"
#include "host/stream/stream.h"

namespace gridstride::host {

// For calls that CUDA names potentially unsafe, which act at once and are no work of a stream:
// allocating, freeing, mapping, registering, waiting. First in such a call; anything but
// cudaSuccess is what it returns, without having done anything.
cudaError_t capture_forbids();

// The stream of a handle, for calls that give it work or wait for it. A legacy stream would depend
// on all blocking streams of its device, so it cannot be used while one of them is captured.
cudaError_t find_stream_for_work(cudaStream_t handle, std::shared_ptr<Stream>& stream);

// Whether work for the stream becomes nodes of a graph.
bool is_captured(const Stream& stream);

// Adds a node behind what the captured stream has so far.
cudaError_t capture_node(Stream& stream, NodeContent content);

// Spoils the capture of a captured stream, for work that no graph can hold.
cudaError_t refuse_node(Stream& stream);

// For calls that ask whether something is done, or wait for that: no captured work ever is.
cudaError_t capture_forbids_waiting(Stream& stream);
cudaError_t capture_forbids_waiting(Event& event);
cudaError_t capture_forbids_waiting(Device& device);

// An event of which the last recording was, or by this call becomes, part of a capture.
bool is_captured(const Event& event);
cudaError_t capture_record(Stream& stream, Event& event);

// A recording that is no part of a capture takes the place of one that was.
void forget_captured_record(Event& event);

// Stream or event are captured, or both: the stream joins the event's capture.
cudaError_t capture_wait(const std::shared_ptr<Stream>& stream, Event& event);

// A destroyed stream leaves its capture; what it added stays. A capture that began on it is over.
void leave_capture(Stream& stream);

}  // namespace gridstride::host

#endif
