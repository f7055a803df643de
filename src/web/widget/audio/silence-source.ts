/** A source without a sound, for a caller who writes: the call needs one, and nobody is asked for a microphone. */

export const openSilence = async (): Promise<MediaStream> => {
  const context = new AudioContext()
  const { stream } = new MediaStreamAudioDestinationNode(context)
  for (const track of stream.getTracks()) {
    const stop = track.stop.bind(track)
    track.stop = () => {
      stop()
      // the second time it is closed already
      context.close().catch(() => {})
    }
  }
  return stream
}
