"""Policies: the paper's algorithms, what they were compared with, and more."""

from armature.policies.baselines.catse import CATSE
from armature.policies.baselines.changing.glr_klucb import GLRKLUCB
from armature.policies.baselines.changing.monitored_ucb import MonitoredUCB
from armature.policies.baselines.changing.sliding_window import SlidingWindow
from armature.policies.baselines.changing.sw_osub import SWOSUB
from armature.policies.baselines.competitive import TSC, UCBC
from armature.policies.baselines.crop import CROP
from armature.policies.baselines.imed import IMED
from armature.policies.baselines.imed_ub import IMEDUB
from armature.policies.baselines.klucb import KLUCB
from armature.policies.baselines.linear.end_of_optimism import EndOfOptimism
from armature.policies.baselines.linear.ids import IDS
from armature.policies.baselines.linear.lin_imed import LinIMED
from armature.policies.baselines.linear.lin_med import LinMED
from armature.policies.baselines.linear.lin_ucb import LinUCB
from armature.policies.baselines.linear.solid import SOLID
from armature.policies.baselines.maillard_sampling import MaillardSampling
from armature.policies.baselines.mints import MINTS
from armature.policies.baselines.ossb import OSSB
from armature.policies.baselines.osub import OSUB
from armature.policies.baselines.sparse_ucb import SparseUCB
from armature.policies.baselines.structured_ucb import StructuredUCB
from armature.policies.baselines.thompson_sampling import ThompsonSampling
from armature.policies.baselines.ucb import UCB
from armature.policies.baselines.uniform_sampling import UniformSampling
from armature.policies.baselines.unimodal_thompson import UnimodalThompson
from armature.policies.challenger import Challenger
from armature.policies.forgetting import Forgetting
from armature.policies.game_sampling import GameSampling
from armature.policies.guarded import Guarded
from armature.policies.policy import Belief as Belief
from armature.policies.policy import CompiledPolicy, History, Policy, Problem, PythonPolicy
from armature.policies.projected_thompson import ProjectedThompson
from armature.policies.restarting import Restarting
from armature.policies.spk import SPk
from armature.policies.splambda import SPLambda
from armature.policies.top_two import TopTwo
from armature.policies.track_and_stop import TrackAndStop

__all__ = [
    "CATSE",
    "CROP",
    "GLRKLUCB",
    "IDS",
    "IMED",
    "IMEDUB",
    "KLUCB",
    "MINTS",
    "OSSB",
    "OSUB",
    "SOLID",
    "SWOSUB",
    "TSC",
    "UCB",
    "UCBC",
    "Challenger",
    "CompiledPolicy",
    "EndOfOptimism",
    "Forgetting",
    "GameSampling",
    "Guarded",
    "History",
    "LinIMED",
    "LinMED",
    "LinUCB",
    "MaillardSampling",
    "MonitoredUCB",
    "Policy",
    "Problem",
    "ProjectedThompson",
    "PythonPolicy",
    "Restarting",
    "SPLambda",
    "SPk",
    "SlidingWindow",
    "SparseUCB",
    "StructuredUCB",
    "ThompsonSampling",
    "TopTwo",
    "TrackAndStop",
    "UniformSampling",
    "UnimodalThompson",
]
