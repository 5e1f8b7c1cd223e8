// Print where joints are, in metres and as Unreal has them: g++ -std=c++17 print_poses.cpp -lzmq -o print_poses
#include "duocap_client.hpp"

#include <cstdio>

int main(int argc, char** argv) {
    duocap::Client client(argc > 1 ? argv[1] : "tcp://127.0.0.1:5570");
    for (long printed = 0, wanted = argc > 2 ? std::stol(argv[2]) : -1; printed != wanted;) {
        const auto pose = client.latest(1000);
        if (!pose) continue;
        const auto joints = duocap::global_transforms(client.skeleton(), *pose);
        for (size_t j = 0; j < joints.size(); ++j) {
            const auto& p = joints[j].position;
            const auto [u, q] = duocap::to_unreal(joints[j]);
            std::printf("%lld %s %s %.6f %.6f %.6f %.4f %.4f %.4f %.6f %.6f %.6f %.6f\n", static_cast<long long>(pose->seq), pose->state.c_str(),
                        client.skeleton().names[j].c_str(), p[0], p[1], p[2], u[0], u[1], u[2], q[0], q[1], q[2], q[3]);
        }
        std::fflush(stdout);
        ++printed;
    }
}
