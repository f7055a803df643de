/**
 * Tests of an application that uses voicegate: a gate in memory with a fake platform, on the test's clock.
 *
 *     it.effect("the second caller waits", () =>
 *       Effect.gen(function* () {
 *         const gate = yield* Gatekeeper
 *         …
 *       }).pipe(Effect.provide(layerTest())))
 */

export { Sideband } from "../platform-api/sideband.ts"
export { connect, type FakeCaller } from "./FakeCaller.ts"
export { FakeIpIntel, layer as layerFakeIpIntel } from "./FakeIpIntel.ts"
export { FakePlatform, type FakeSession, hangUp, layer as layerFakePlatform } from "./FakePlatform.ts"
export { layer as layerTest, type TestSettings } from "./layer.ts"
export { makeFakeAssemblyAI } from "./vendors/FakeAssemblyAI.ts"
export { makeFakeCartesia } from "./vendors/FakeCartesia.ts"
export { makeFakeDaily } from "./vendors/FakeDaily.ts"
export { makeFakeDeepgram } from "./vendors/FakeDeepgram.ts"
export { makeFakeElevenLabs } from "./vendors/FakeElevenLabs.ts"
export { makeFakeGeneric } from "./vendors/FakeGeneric.ts"
export { makeFakeLiveKit } from "./vendors/FakeLiveKit.ts"
export { FAKE_SDP_OFFER, type FakeOpenAI, makeFakeOpenAI } from "./vendors/FakeOpenAI.ts"
export { makeFakePipecat } from "./vendors/FakePipecat.ts"
export { makeFakeRetell } from "./vendors/FakeRetell.ts"
export { makeFakeUltravox } from "./vendors/FakeUltravox.ts"
export { makeFakeVapi } from "./vendors/FakeVapi.ts"
export type { FakeVendor, VendorAnswer, VendorRequest, VendorTrouble } from "./vendors/fake-vendor.ts"
