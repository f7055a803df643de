import { describe } from "@effect/vitest"
import { onEveryStore } from "../support/stores.ts"
import { limiterContract } from "./limiter.contract.ts"

describe("RateLimiter", () => onEveryStore(limiterContract))
