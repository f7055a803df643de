/** Declarations of the AudioWorklet global scope, which TypeScript's DOM library lacks. */

declare const sampleRate: number

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort
  /** Called for each block of 128 samples; false ends the processor. */
  abstract process(inputs: ReadonlyArray<ReadonlyArray<Float32Array>>, outputs: Array<Array<Float32Array>>): boolean
}

declare function registerProcessor<Options>(
  name: string,
  processor: new (options: Options) => AudioWorkletProcessor,
): void
