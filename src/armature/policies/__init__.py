"""How to choose: the paper's algorithms, what they were compared with, and more."""

from armature.policies._explanation import Belief
from armature.policies._policy import CompiledPolicy, Policy, Problem, PythonPolicy
from armature.policies.catse import CATSE
from armature.policies.challenger import Challenger
from armature.policies.end_of_optimism import EndOfOptimism
from armature.policies.game_sampling import GameSampling
from armature.policies.guarded import Guarded
from armature.policies.ids import IDS
from armature.policies.imed import IMED
from armature.policies.imed_ub import IMEDUB
from armature.policies.klucb import KLUCB
from armature.policies.lin_ucb import LinUCB
from armature.policies.mints import MINTS
from armature.policies.ossb import OSSB
from armature.policies.osub import OSUB
from armature.policies.projected_thompson import ProjectedThompson
from armature.policies.records import History
from armature.policies.solid import SOLID
from armature.policies.sparse_ucb import SparseUCB
from armature.policies.spk import SPk
from armature.policies.splambda import SPLambda
from armature.policies.structured_ucb import StructuredUCB
from armature.policies.thompson_sampling import ThompsonSampling
from armature.policies.top_two import TopTwo
from armature.policies.track_and_stop import TrackAndStop
from armature.policies.ucb import UCB
from armature.policies.uniform_sampling import UniformSampling
from armature.policies.unimodal_thompson import UnimodalThompson

__all__ = [
    "CATSE",
    "IDS",
    "IMED",
    "IMEDUB",
    "KLUCB",
    "MINTS",
    "OSSB",
    "OSUB",
    "SOLID",
    "UCB",
    "Belief",
    "Challenger",
    "CompiledPolicy",
    "EndOfOptimism",
    "GameSampling",
    "Guarded",
    "History",
    "LinUCB",
    "Policy",
    "Problem",
    "ProjectedThompson",
    "PythonPolicy",
    "SPLambda",
    "SPk",
    "SparseUCB",
    "StructuredUCB",
    "ThompsonSampling",
    "TopTwo",
    "TrackAndStop",
    "UniformSampling",
    "UnimodalThompson",
]
