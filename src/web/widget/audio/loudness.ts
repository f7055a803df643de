/** The loudness of a stream, where no worklet of the widget hears it. */

/** How often it is measured, in milliseconds. */
const EVERY = 50

/** Measures until the context is closed, if it can take the stream (`openContext`). Reports the root mean square of the last samples, 0 to 1. */
export const measure = (context: AudioContext, stream: MediaStream, tell: (loudness: number) => void): void => {
  const analyser = new AnalyserNode(context, { fftSize: 1024 })
  try {
    context.createMediaStreamSource(stream).connect(analyser)
  } catch {
    // the call goes on without a picture of its sound
    return
  }
  const samples = new Float32Array(analyser.fftSize)
  const measuring = window.setInterval(() => {
    if (context.state === "closed") {
      window.clearInterval(measuring)
      return
    }
    analyser.getFloatTimeDomainData(samples)
    tell(Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length))
  }, EVERY)
}
