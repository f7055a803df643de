import { describe } from "@effect/vitest"
import { onEveryStore } from "../harness/stores.ts"
import { limiterContract } from "./limiter.contract.ts"

describe("RateLimiter", () => onEveryStore(limiterContract))
